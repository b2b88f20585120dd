// Tensor.<name>() and Tensor.is_<name>. They unpack the tensor themselves and skip torch's argument
// parser, so they are as fast as torch's own methods.
#include <ATen/PythonTorchFunctionTLS.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/device_lazy_init.h>
#include <torch/csrc/utils/python_arg_parser.h>

#include <array>
#include <optional>
#include <string>

#include "backend_template/core/devices/device.h"
#include "backend_template/python/arguments.h"
#include "backend_template/python/device_argument.h"
#include "backend_template/python/errors.h"
#include "backend_template/python/imported.h"
#include "generators/methods/descriptors.h"
#include "generators/methods/docstrings.h"
#include "generators/methods/methods.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

// Set once by add_tensor_methods, and leaked.
struct tensor_names {
  std::string method;
  std::string property;
  PyObject* has_torch_function;  // torch._C._has_torch_function_unary
};
const tensor_names* names = nullptr;

// True for an exact Tensor or Parameter while no mode is active: then no __torch_function__ can
// override a method. torch's check_has_torch_function begins like this, but is not exported.
bool is_plain(PyObject* tensor) {
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(tensor));
  return (type == THPVariableClass || type == ParameterClass) &&
         !at::impl::torch_function_mode_enabled();
}

bool has_torch_function(PyObject* tensor) {
  const auto answer =
      py::reinterpret_steal<py::object>(PyObject_CallOneArg(names->has_torch_function, tensor));
  if (!answer) throw py::error_already_set();
  return answer.ptr() == Py_True;
}

// ---- is_<name>

bool is_on_backend(PyObject* tensor) {
  // Not device_type(), which is "meta" for a FakeTensor: code that torch.compile traces would take
  // the wrong branch.
  return THPVariable_Unpack(tensor).unsafeGetTensorImpl()->is_privateuseone();
}

PyObject* override_is_backend(PyObject* self) {
  const py::object get = py::handle(THPVariableClass).attr(names->property.c_str()).attr("__get__");
  const py::tuple arguments = py::make_tuple(py::handle(self));
  return torch::handle_torch_function_no_python_arg_parser(
      {self}, arguments.ptr(), nullptr, "__get__", get.ptr(),
      ("torch.Tensor." + names->property).c_str());
}

PyObject* get_is_backend(PyObject* self, void* /*closure*/) {
  return guarded([self]() -> PyObject* {
    if (C10_UNLIKELY(!is_plain(self)) && has_torch_function(self)) return override_is_backend(self);
    return PyBool_FromLong(is_on_backend(self));
  });
}

// ---- <name>()

PyObject* override_to(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                      PyObject* keywords) {
  const py::tuple arguments =
      py::make_tuple(py::handle(self)) + positional_tuple(values, positional);
  const py::dict named = keyword_dict(values, positional, keywords);
  const py::object method = py::handle(THPVariableClass).attr(names->method.c_str());
  return torch::handle_torch_function_no_python_arg_parser(
      {self}, arguments.ptr(), named.ptr(), names->method.c_str(), method.ptr(),
      ("torch.Tensor." + names->method).c_str());
}

// Leaves the other keywords to Tensor.to, which knows them and refuses wrong ones.
PyObject* call_to(PyObject* self, const move_arguments& arguments, c10::DeviceIndex index) {
  py::dict named = arguments.others;
  named["device"] = make_device(index);
  named["non_blocking"] = py::bool_(arguments.non_blocking);
  return py::handle(self).attr("to")(**named).release().ptr();
}

PyObject* tensor_to_backend(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                            PyObject* keywords) {
  HANDLE_TH_ERRORS
  // Parses first, as torch's own methods do: an override only sees calls with valid arguments.
  const move_arguments arguments = parse_move(names->method, values, positional, keywords);
  if (C10_UNLIKELY(!is_plain(self)) && has_torch_function(self)) {
    return override_to(self, values, positional, keywords);
  }
  const c10::DeviceIndex index = device_argument(arguments.device);
  if (arguments.others) return call_to(self, arguments, index);
  torch::utils::device_lazy_init(core::device_type);
  const at::Tensor& tensor = THPVariable_Unpack(self);
  at::Tensor result;
  {
    const py::gil_scoped_release no_gil;
    result = to_backend(tensor, index, arguments.non_blocking);
  }
  return THPVariable_Wrap(std::move(result));
  END_HANDLE_TH_ERRORS
}

// If torch._dynamo is imported already, it has copied the attributes of torch.Tensor: adds this
// one.
void tell_dynamo(const std::string& attribute) {
  const py::object dynamo = imported("torch._dynamo.variables.tensor");
  if (!dynamo || !py::hasattr(dynamo, "all_tensor_attrs")) return;
  dynamo.attr("all_tensor_attrs")[attribute.c_str()] =
      py::handle(THPVariableClass).attr("__dict__")[attribute.c_str()];
}

void forget(const py::object& module, const char* cached_function) {
  const py::object cached = py::getattr(module, cached_function, py::none());
  if (py::hasattr(cached, "cache_clear")) cached.attr("cache_clear")();
}

// Clears torch's cached lists of Tensor's methods, so that they are made again with the new one:
// torch.overrides keeps those that __torch_function__ sees, and torch.compile one of its own.
void tell_lists() {
  const py::module_ overrides = import_module("torch.overrides");
  forget(overrides, "get_testing_overrides");
  forget(overrides, "_get_overridable_functions");
  forget(overrides, "_get_tensor_methods");
  if (const py::object rules = imported("torch._dynamo.trace_rules")) {
    forget(rules, "get_tensor_method");
  }
}

}  // namespace

void add_tensor_methods(const std::string& name) {
  py::object has_torch_function = import_module("torch._C").attr("_has_torch_function_unary");
  names = new tensor_names{.method = name,
                           .property = "is_" + name,
                           .has_torch_function = has_torch_function.release().ptr()};
  add_property(THPVariableClass, names->property, &get_is_backend, property_doc(name, "tensor"));
  add_method(
      THPVariableClass, name, &tensor_to_backend,
      "($self, device=None, non_blocking=False, **kwargs)",
      move_doc(name, "tensor", "    **kwargs: as for Tensor.to: dtype, copy, memory_format\n"));
  tell_dynamo(names->property);
  tell_dynamo(name);
  tell_lists();
}

}  // namespace outback::python
