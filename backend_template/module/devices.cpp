// The devices in Python: how many, which one is current, and the start of the backend.
#include <ATen/Context.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>
#include <torch/csrc/utils/device_lazy_init.h>

#include <algorithm>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/dtypes.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/races/race_finder.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/module/device_module.h"
#include "backend_template/python/device_argument.h"
#include "backend_template/python/embedded.h"
#include "backend_template/python/imported.h"

namespace py = pybind11;

namespace outback::python {
namespace {

PyObject* waiting_calls = nullptr;  // the list of _outback/lazy_calls.py; leaked

bool has_waiting_calls() {
  return PyList_GET_SIZE(waiting_calls) > 0;
}

void set_device(py::handle device) {
  const c10::DeviceIndex index = device_argument_or_none(device);
  if (index >= 0) core::set_device(index);
}

void synchronize(py::handle device) {
  const c10::DeviceIndex index = device_argument(device);
  start_from_python();
  const py::gil_scoped_release no_gil;
  core::synchronize_device(index);
  core::note_host_wait(index);
}

py::list amp_dtypes() {
  const py::module_ torch = import_module("torch");
  py::list dtypes;
  for (const c10::ScalarType dtype : core::amp_dtypes()) {
    dtypes.append(torch.attr(std::string(c10::getDtypeNames(dtype).first).c_str()));
  }
  return dtypes;
}

// Every backend that does not exclude the dtype can have such tensors, and every operator takes
// them, by the CPU's kernels if need be: that counts as emulation. Natively the device supports
// bfloat16 if the vendor names it among the dtypes of autocast.
bool is_bf16_supported(bool including_emulation) {
  if (core::device_count() == 0 || !core::supports(c10::ScalarType::BFloat16)) return false;
  const auto& dtypes = core::amp_dtypes();
  return including_emulation ||
         std::find(dtypes.begin(), dtypes.end(), c10::ScalarType::BFloat16) != dtypes.end();
}

// As torch.cuda._exchange_device: a negative index changes nothing and returns -1.
int exchange_device(int index) {
  if (index < 0) return -1;
  return core::exchange_device(device_argument(py::int_(index)));
}

}  // namespace

void start_from_python() {
  {
    const py::gil_scoped_release no_gil;  // a driver may take its time
    // First, since it refuses a forked child, where torch's own flag for the hooks' init() may be
    // one that another thread of the parent held.
    core::ensure_started();
    at::globalContext().lazyInitDevice(core::device_type);
  }
  static bool has_told_twins = false;  // guarded by the GIL
  if (!std::exchange(has_told_twins, true)) part("twin").attr("start")();
  if (has_waiting_calls()) part("lazy_calls").attr("run")();
  // Otherwise torch would call _lazy_init again for each new tensor of the device. Some still wait
  // if one of them has come here.
  if (!has_waiting_calls()) torch::utils::set_requires_device_init(core::device_type, false);
}

void define_devices(function_scope& module) {
  waiting_calls = part("lazy_calls").attr("waiting").cast<py::list>().release().ptr();
  module.def(
      "is_available", [] { return core::device_count() > 0; },
      py::doc("Whether there is a device to use. Never raises, starts nothing."));
  module.def(
      "device_count", [] { return static_cast<int>(core::device_count()); },
      py::doc("The number of devices. Starts nothing: safe before a fork."));
  module.def(
      "current_device", [] { return static_cast<int>(core::current_device()); },
      py::doc("The index of this thread's device."));
  module.def(
      "set_device", &set_device, py::arg("device"),
      py::doc("Makes `device` this thread's; a negative index changes nothing. Prefer the context "
              "manager `device`."));
  module.def("synchronize", &synchronize, py::arg("device") = py::none(),
             py::doc("Waits until all work on the device's streams is done."));
  module.def("init", &start_from_python,
             py::doc("Starts the backend, which happens by itself at the first use."));
  module.def(
      "is_initialized", [] { return core::is_started() && !has_waiting_calls(); },
      py::doc("Whether the backend has been started."));
  module.def("get_amp_supported_dtype", &amp_dtypes,
             py::doc("The dtypes that torch.autocast may cast to on this device."));
  module.def("is_bf16_supported", &is_bf16_supported, py::arg("including_emulation") = true,
             py::doc("Whether bfloat16 can be used: natively, or at all."));

  module.def("_lazy_init", &start_from_python);
  module.def("_is_compiled", [] { return true; });
  module.def("_is_in_bad_fork", &core::is_in_bad_fork);
  module.def("_exchange_device", &exchange_device, py::arg("device"));
  module.def("_maybe_exchange_device", &exchange_device, py::arg("device"));
}

}  // namespace outback::python
