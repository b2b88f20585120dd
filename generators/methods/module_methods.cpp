// Module.<name>().
#include <c10/util/Exception.h>

#include <string>

#include "generators/methods/descriptors.h"
#include "generators/methods/methods.h"
#include "registration/python/device_argument.h"
#include "registration/python/errors.h"

namespace py = pybind11;

namespace outback::python {
namespace {

PyObject* method_name = nullptr;  // leaked, interned

// What Module._apply calls with each parameter and buffer; `device` is the bound first argument.
PyObject* move_tensor(PyObject* device, PyObject* tensor) {
  return PyObject_CallMethodObjArgs(tensor, method_name, device, nullptr);
}
PyMethodDef move_definition = {"to_device", &move_tensor, METH_O, nullptr};

PyObject* parse_module_device(PyObject* const* values, Py_ssize_t positional, PyObject* keywords) {
  const std::string name = py::str(py::handle(method_name));
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  TORCH_CHECK_TYPE(positional <= 1, name, "() takes from 1 to 2 positional arguments but ",
                   positional + 1, " were given");
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* const keyword = PyTuple_GET_ITEM(keywords, i);
    TORCH_CHECK_TYPE(PyUnicode_CompareWithASCIIString(keyword, "device") == 0, name,
                     "() got an unexpected keyword argument '", std::string(py::str(keyword)), "'");
    TORCH_CHECK_TYPE(positional == 0, name, "() got multiple values for argument 'device'");
  }
  return positional + named == 0 ? Py_None : values[0];
}

PyObject* module_to_backend(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                            PyObject* keywords) {
  return guarded([&] {
    // Read once: every tensor goes to the same device, and a module without any is checked too.
    const py::int_ device(static_cast<int>(device_argument(parse_module_device(values, positional, keywords))));
    const auto move = py::reinterpret_steal<py::object>(PyCFunction_New(&move_definition, device.ptr()));
    if (!move) throw py::error_already_set();
    return py::handle(self).attr("_apply")(move).release().ptr();
  });
}

}  // namespace

void add_module_methods(const std::string& name) {
  method_name = PyUnicode_InternFromString(name.c_str());
  const py::object module = py::module_::import("torch.nn").attr("Module");
  add_method(module.ptr(), name, &module_to_backend, "($self, device=None)",
             "Moves all parameters and buffers to the given " + name +
                 " device, and returns the module.\n\n"
                 "The parameters become other objects: call it before an optimizer is made from "
                 "them.\n\n"
                 "Args:\n"
                 "    device (int, str or torch.device, optional): the destination; the current " +
                 name + " device if None\n");
}

}  // namespace outback::python
