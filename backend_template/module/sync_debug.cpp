// torch.<name>.set_sync_debug_mode: whether calls that make the host wait warn or raise.
#include "backend_template/core/streams/sync_debug.h"

#include <c10/util/Exception.h>

#include <string>

#include "backend_template/module/device_module.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// The mode as text or as a number, as torch.cuda takes both.
core::sync_debug_mode read_mode(const py::object& mode) {
  if (py::isinstance<py::str>(mode)) {
    const auto text = mode.cast<std::string>();
    if (text == "default") return core::sync_debug_mode::off;
    if (text == "warn") return core::sync_debug_mode::warn;
    if (text == "error") return core::sync_debug_mode::error;
    TORCH_CHECK(false, "invalid value of debug_mode: \"", text,
                "\", expected one of `default`, `warn`, `error`");
  }
  TORCH_CHECK_TYPE(PyLong_Check(mode.ptr()), "debug_mode must be an int or a str, not ",
                   Py_TYPE(mode.ptr())->tp_name);
  const auto number = mode.cast<int64_t>();
  TORCH_CHECK(number >= 0 && number <= 2, "invalid value of debug_mode: ", number,
              ", expected one of 0,1,2");
  return static_cast<core::sync_debug_mode>(number);
}

}  // namespace

void define_sync_debug(py::module_& module) {
  module.def(
      "set_sync_debug_mode",
      [](const py::object& mode) { core::set_sync_debug_mode(read_mode(mode)); },
      py::arg("debug_mode"),
      R"(What calls do that make the host wait for a stream: `item()`, copies that block, `Stream.synchronize()`.

Args:
    debug_mode: "default" or 0 lets them be, "warn" or 1 warns, "error" or 2 raises RuntimeError.
        Holds for all threads. `synchronize()` of a device and of an event are asked for by name
        and never reported.)");
  module.def(
      "get_sync_debug_mode", [] { return static_cast<int>(core::get_sync_debug_mode()); },
      py::doc("The mode that `set_sync_debug_mode` set: 0, 1 or 2."));
}

}  // namespace outback::python
