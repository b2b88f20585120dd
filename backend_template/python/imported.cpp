#include "backend_template/python/imported.h"

namespace py = pybind11;

namespace outback::python {

py::object imported(const char* name) {
  const py::dict modules = py::module_::import("sys").attr("modules");
  return modules.contains(name) ? py::object(modules[name]) : py::object();
}

}  // namespace outback::python
