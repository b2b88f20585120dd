#include "backend_template/module/device_module.h"

#include <c10/util/Exception.h>

#include <string>
#include <string_view>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/module/lazy_calls.h"
#include "backend_template/module/left_out.h"
#include "backend_template/module/random.h"
#include "backend_template/module/submodule.h"
#include "backend_template/python/embedded.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// The module's __getattr__: attributes that have no fixed value, and the error for missing ones.
py::object late_attribute(const std::string& name, const std::string& attribute) {
  if (attribute == "_initialized") {
    return py::bool_(core::is_started() && !has_lazy_calls());
  }
  if (attribute == "default_generators") return default_generators();
  std::string text = "module 'torch." + name + "' has no attribute '" + attribute + "'";
  if (const std::string_view why = why_left_out(attribute); !why.empty()) {
    text += ", unlike torch.cuda: " + std::string(why);
  }
  throw py::attribute_error(text);
}

// Gives the classes the module that a user can import, for reprs, pickles and tracebacks.
void rename_members(const py::module_& module, const std::string& qualified_name) {
  const py::dict members = module.attr("__dict__");
  for (const auto& [key, value] : members) {
    if (PyType_Check(value.ptr())) py::setattr(value, "__module__", py::str(qualified_name));
  }
}

py::list public_names(const py::module_& module) {
  py::list names;
  const py::dict members = module.attr("__dict__");
  for (const auto& [key, value] : members) {
    if (key.cast<std::string>().front() != '_') names.append(key);
  }
  names.append("default_generators");
  return names;
}

}  // namespace

void define_device_module(py::module_& module, const std::string& name) {
  define_lazy_calls(module);
  define_devices(module);
  define_properties(module);
  define_contexts(module);
  define_streams(module);
  define_random(module);
  define_memory(module);
  define_host_memory(module);
  define_fallback(module);
  define_peer(module);
  define_telemetry(module);
  define_sync_debug(module);
  define_graphs(module);
  py::module_ package = define_package(module);
  define_native(module, package);
  part("legacy_types").attr("define")();
  part("graphs").attr("define")();
  rename_members(module, "torch." + name);
  define_submodules(module);
  module.def("__getattr__",
             [name](const std::string& attribute) { return late_attribute(name, attribute); });
  const py::list names = public_names(module);
  module.attr("__all__") = names;
  // torch's own classes, which torch.cuda has under these names too.
  for (const char* error : {"OutOfMemoryError", "AcceleratorError"}) {
    module.attr(error) = py::module_::import("torch").attr(error);
  }
  module.def("__dir__", [module_dict = py::handle(module.attr("__dict__"))] {
    py::set all(py::list(module_dict.attr("keys")()));
    all.add("default_generators");
    all.add("_initialized");
    return py::module_::import("builtins").attr("sorted")(all);
  });
}

}  // namespace outback::python
