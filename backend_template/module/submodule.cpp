#include "backend_template/module/submodule.h"

#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {

py::module_ add_submodule(py::module_& module, const char* part, const char* doc) {
  // Not pybind11's def_submodule, which would name it after the extension module, "torch_acme._C".
  const std::string name = "torch." + backend_name() + "." + part;
  auto made = py::reinterpret_steal<py::module_>(PyModule_New(name.c_str()));
  if (!made) throw py::error_already_set();
  made.attr("__doc__") = doc;
  const py::dict modules = py::module_::import("sys").attr("modules");
  modules[py::str(name)] = made;
  module.attr(part) = made;
  return made;
}

void share_names(const py::module_& from, py::module_& to, const std::vector<std::string>& names) {
  py::list all;
  for (const std::string& name : names) {
    to.attr(name.c_str()) = from.attr(name.c_str());
    all.append(name);
  }
  to.attr("__all__") = all;
}

}  // namespace outback::python
