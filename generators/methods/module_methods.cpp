// Module.<name>().
#include <c10/util/Exception.h>

#include <string>
#include <unordered_map>
#include <vector>

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

// A parameter of one module, where the module keeps it.
struct held_parameter {
  py::dict holder;
  py::object name;
  py::object parameter;
};

std::vector<held_parameter> parameters_of(py::handle module) {
  std::vector<held_parameter> found;
  for (const py::handle part : module.attr("modules")()) {
    const py::object holder = part.attr("_parameters");
    if (!py::isinstance<py::dict>(holder)) continue;  // a ScriptModule's, which C++ keeps
    for (const auto& [name, parameter] : py::reinterpret_borrow<py::dict>(holder)) {
      if (parameter.is_none()) continue;
      found.push_back({py::reinterpret_borrow<py::dict>(holder),
                       py::reinterpret_borrow<py::object>(name),
                       py::reinterpret_borrow<py::object>(parameter)});
    }
  }
  return found;
}

// On a move to PrivateUse1 Module._apply makes new Parameters, one for each module that holds the
// old one: what was one parameter would become several.
void tie_again(const std::vector<held_parameter>& before) {
  std::unordered_map<PyObject*, py::object> first;
  for (const auto& [holder, name, parameter] : before) {
    const auto [moved, is_first] = first.try_emplace(parameter.ptr(), holder[name]);
    if (!is_first) holder[name] = moved->second;
  }
}

PyObject* module_to_backend(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                            PyObject* keywords) {
  return guarded([&] {
    // Read once: every tensor goes to the same device, and a module without any is checked too.
    const py::int_ device(
        static_cast<int>(device_argument(parse_module_device(values, positional, keywords))));
    const auto move =
        py::reinterpret_steal<py::object>(PyCFunction_New(&move_definition, device.ptr()));
    if (!move) throw py::error_already_set();
    const std::vector<held_parameter> before = parameters_of(self);
    py::object moved = py::handle(self).attr("_apply")(move);
    tie_again(before);
    return moved.release().ptr();
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
