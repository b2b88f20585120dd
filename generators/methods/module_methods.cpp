// Module.<name>(), by way of Module._apply, which calls a function with each tensor of the module.
#include <c10/util/Exception.h>
#include <pybind11/stl.h>

#include <string>
#include <utility>

#include "backend_template/core/devices/dtypes.h"
#include "backend_template/python/arguments.h"
#include "backend_template/python/device_argument.h"
#include "backend_template/python/dtype.h"
#include "backend_template/python/errors.h"
#include "generators/methods/descriptors.h"
#include "generators/methods/docstrings.h"
#include "generators/methods/methods.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

PyObject* method_name = nullptr;  // leaked, interned

// Module._apply calls this with each parameter, gradient and buffer. `device` is bound as the first
// argument. It calls the Python method, so that subclasses of Tensor and modes see the call.
PyObject* move_tensor(PyObject* device, PyObject* tensor) {
  return PyObject_CallMethodObjArgs(tensor, method_name, device, nullptr);
}
PyMethodDef move_definition = {"to_device", &move_tensor, METH_O, nullptr};

// The same for the two other ways of Module._apply, which torch.__future__ turns on. They cannot
// tell a parameter whose shape is not known yet from an empty one; returned unmoved, such a
// parameter is refused by Module._apply with its own message.
PyObject* move_known_tensor(PyObject* device, PyObject* tensor) {
  return guarded([&] {
    const py::object lazy =
        py::module_::import("torch.nn.parameter").attr("UninitializedTensorMixin");
    if (py::isinstance(tensor, lazy)) return Py_NewRef(tensor);
    return move_tensor(device, tensor);
  });
}
PyMethodDef move_known_definition = {"to_device", &move_known_tensor, METH_O, nullptr};

PyMethodDef& definition_for_this_way() {
  const py::module_ future = py::module_::import("torch.__future__");
  const bool makes_others =
      future.attr("get_overwrite_module_params_on_conversion")().cast<bool>() ||
      future.attr("get_swap_module_params_on_conversion")().cast<bool>();
  return makes_others ? move_known_definition : move_definition;
}

// Refuses unsupported dtypes before anything moves: a module of which one half has moved is
// useless.
void check_dtypes(py::handle module) {
  if (core::supports_all()) return;
  for (const char* const list : {"named_parameters", "named_buffers"}) {
    for (const py::handle item : module.attr(list)()) {
      const auto [name, tensor] = item.cast<std::pair<std::string, py::object>>();
      const py::object dtype = tensor.attr("dtype");
      TORCH_CHECK_TYPE(core::supports(as_scalar_type(dtype)), "cannot move the module: \"", name,
                       "\" is ", std::string(py::str(dtype)), ", a dtype that ", backend_name(),
                       " does not support; convert the module first, for example with .float()");
    }
  }
}

PyObject* module_to_backend(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                            PyObject* keywords) {
  return guarded([&] {
    // Reads the device once, so that every tensor goes to the same one even if the current device
    // changes, and so that a wrong device is an error for a module without tensors too.
    const py::object device =
        make_device(device_argument(parse_device(backend_name(), values, positional, keywords)));
    check_dtypes(self);
    const auto move = py::reinterpret_steal<py::object>(
        PyCFunction_New(&definition_for_this_way(), device.ptr()));
    if (!move) throw py::error_already_set();
    return py::handle(self).attr("_apply")(move).release().ptr();
  });
}

// Adds the method to those that a parameter of a lazy module allows: such a parameter has no shape
// yet and refuses all other methods.
void allow_uninitialized(const std::string& name) {
  const py::object tensor = py::module_::import("torch").attr("Tensor");
  const py::object lazy =
      py::module_::import("torch.nn.parameter").attr("UninitializedTensorMixin");
  lazy.attr("_allowed_methods").attr("append")(tensor.attr(name.c_str()));
}

}  // namespace

void add_module_methods(const std::string& name) {
  method_name = PyUnicode_InternFromString(name.c_str());
  const py::object module = py::module_::import("torch.nn").attr("Module");
  add_method(module.ptr(), name, &module_to_backend, "($self, device=None)", module_doc(name));
  allow_uninitialized(name);
}

}  // namespace outback::python
