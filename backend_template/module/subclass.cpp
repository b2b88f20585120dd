#include "backend_template/module/subclass.h"
#include "backend_template/python/imported.h"

namespace py = pybind11;

namespace outback::python {

py::object make_subclass(const std::string& qualified_name, PyTypeObject* base,
                         PyType_Slot* slots) {
  // Leaked, like the type: CPython before 3.12 keeps this pointer as the type's name.
  const auto* const name = new std::string(qualified_name);
  PyType_Spec spec{name->c_str(), 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  const py::tuple bases = py::make_tuple(py::handle(reinterpret_cast<PyObject*>(base)));
  auto type = py::reinterpret_steal<py::object>(PyType_FromSpecWithBases(&spec, bases.ptr()));
  if (!type) throw py::error_already_set();
  return type;
}

void dealloc_like(PyTypeObject* base, PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);  // `self` is gone after the next line
  base->tp_dealloc(self);
  Py_DECREF(type);
}

PyObject* call_base(PyTypeObject* base, const char* method, PyObject* self, PyObject* argument) {
  const py::object function = py::handle(reinterpret_cast<PyObject*>(base)).attr(method);
  return PyObject_CallFunctionObjArgs(function.ptr(), self, argument, nullptr);
}

PyObject* as_void_pointer(py::handle address) {
  return import_module("ctypes").attr("c_void_p")(address).release().ptr();
}

}  // namespace outback::python
