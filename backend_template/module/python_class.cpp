#include "backend_template/module/python_class.h"

namespace py = pybind11;

namespace outback::python {

py::object make_class(const char* name, const py::tuple& bases, const py::dict& members) {
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyType_Type))(name, bases,
                                                                                       members);
}

py::object static_method(const py::object& function) {
  return py::module_::import("builtins").attr("staticmethod")(function);
}

}  // namespace outback::python
