// Module.<name>().
#include <c10/util/Exception.h>
#include <pybind11/stl.h>

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend_template/core/dtypes.h"
#include "generators/methods/descriptors.h"
#include "generators/methods/methods.h"
#include "outback/backend.h"
#include "registration/python/device_argument.h"
#include "registration/python/dtype.h"
#include "registration/python/errors.h"

namespace py = pybind11;

namespace outback::python {
namespace {

PyObject* method_name = nullptr;  // leaked, interned

bool is_uninitialized(py::handle tensor) {
  static const auto* const mixin =
      new py::object(py::module_::import("torch.nn.parameter").attr("UninitializedTensorMixin"));
  return py::isinstance(tensor, *mixin);
}

// What Module._apply calls with each parameter and buffer; `device` is the bound first argument.
PyObject* move_tensor(PyObject* device, PyObject* tensor) {
  return guarded([&] {
    // Nothing to copy, and Module._apply knows no way to move it: see renew_uninitialized.
    if (is_uninitialized(tensor)) return Py_NewRef(tensor);
    PyObject* const moved = PyObject_CallMethodObjArgs(tensor, method_name, device, nullptr);
    if (moved == nullptr) throw py::error_already_set();
    return moved;
  });
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

// Before anything moves: a module half of which is elsewhere is of no use.
void check_dtypes(py::handle module) {
  for (const char* const list : {"named_parameters", "named_buffers"}) {
    for (const py::handle item : module.attr(list)()) {
      const auto [name, tensor] = item.cast<std::pair<std::string, py::object>>();
      const py::object dtype = tensor.attr("dtype");
      TORCH_CHECK_TYPE(core::supports(as_scalar_type(dtype)), "cannot move the module: \"", name,
                       "\" is ", std::string(py::str(dtype)), ", a dtype that ", backend_name(),
                       " does not support");
    }
  }
}

// A parameter or buffer of one module, where the module keeps it.
struct held_tensor {
  py::dict holder;
  py::object name;
  py::object tensor;
};

std::vector<held_tensor> tensors_of(py::handle module, const char* kind) {
  std::vector<held_tensor> found;
  for (const py::handle part : module.attr("modules")()) {
    const py::object holder = part.attr(kind);
    if (!py::isinstance<py::dict>(holder)) continue;  // a ScriptModule's, which C++ keeps
    for (const auto& [name, tensor] : py::reinterpret_borrow<py::dict>(holder)) {
      if (tensor.is_none()) continue;
      found.push_back({py::reinterpret_borrow<py::dict>(holder),
                       py::reinterpret_borrow<py::object>(name),
                       py::reinterpret_borrow<py::object>(tensor)});
    }
  }
  return found;
}

// On a move to PrivateUse1 Module._apply makes new Parameters, one for each module that holds the
// old one: what was one parameter would become several.
void tie_again(const std::vector<held_tensor>& before) {
  std::unordered_map<PyObject*, py::object> first;
  for (const auto& [holder, name, parameter] : before) {
    const auto [moved, is_first] = first.try_emplace(parameter.ptr(), holder[name]);
    if (!is_first) holder[name] = moved->second;
  }
}

// Lazy modules get their tensors' device from these, at their first forward.
void renew_uninitialized(const std::vector<held_tensor>& tensors, const py::object& device) {
  for (const auto& [holder, name, tensor] : tensors) {
    if (!is_uninitialized(tensor)) continue;
    holder[name] =
        py::type::of(tensor)(py::arg("requires_grad") = tensor.attr("requires_grad"),
                             py::arg("device") = device, py::arg("dtype") = tensor.attr("dtype"));
  }
}

PyObject* module_to_backend(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                            PyObject* keywords) {
  return guarded([&] {
    // Read once: every tensor goes to the same device, and a module without any is checked too.
    const py::object device =
        make_device(device_argument(parse_module_device(values, positional, keywords)));
    const auto move =
        py::reinterpret_steal<py::object>(PyCFunction_New(&move_definition, device.ptr()));
    if (!move) throw py::error_already_set();
    check_dtypes(self);
    const std::vector<held_tensor> parameters = tensors_of(self, "_parameters");
    py::object moved = py::handle(self).attr("_apply")(move);
    renew_uninitialized(parameters, device);
    renew_uninitialized(tensors_of(self, "_buffers"), device);
    tie_again(parameters);
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
