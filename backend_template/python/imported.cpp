#include "backend_template/python/imported.h"

namespace py = pybind11;

namespace outback::python {

py::object imported(const char* name) {
  auto module = py::reinterpret_steal<py::object>(PyImport_GetModule(py::str(name).ptr()));
  if (!module && PyErr_Occurred() != nullptr) throw py::error_already_set();
  return module;
}

py::module_ import_module(const char* name) {
  const auto outermost = py::reinterpret_steal<py::object>(
      PyImport_ImportModuleLevel(name, nullptr, nullptr, nullptr, 0));
  if (!outermost) throw py::error_already_set();
  return py::reinterpret_steal<py::module_>(imported(name).release());
}

}  // namespace outback::python
