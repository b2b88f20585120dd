// Tensor.<name>() and Tensor.is_<name>. One of the two files that include the heavy headers of
// libtorch_python: the property must be as fast as torch's own, so it reads the tensor directly.
#include <ATen/PythonTorchFunctionTLS.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/device_lazy_init.h>
#include <torch/csrc/utils/python_arg_parser.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "backend_template/core/device.h"
#include "generators/methods/descriptors.h"
#include "generators/methods/methods.h"
#include "registration/python/device_argument.h"
#include "registration/python/errors.h"
#include "registration/python/import_hook.h"

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

// An exact Tensor or Parameter, no mode active: nothing can override what it does. torch's own
// check, check_has_torch_function, begins like this and is not exported.
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
  // Not device_type(), which is "meta" for a FakeTensor: torch.compile would take the wrong branch.
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

struct to_arguments {
  PyObject* device = Py_None;
  PyObject* non_blocking = Py_False;
  py::dict others;  // for Tensor.to: memory_format, dtype, copy. Null when there are none
};

void set_once(PyObject*& slot, bool& given, PyObject* value, std::string_view name) {
  TORCH_CHECK_TYPE(!given, names->method, "() got multiple values for argument '", name, "'");
  given = true;
  slot = value;
}

to_arguments parse(PyObject* const* values, Py_ssize_t positional, PyObject* keywords) {
  TORCH_CHECK_TYPE(positional <= 2, names->method, "() takes from 1 to 3 positional arguments but ",
                   positional + 1, " were given");
  to_arguments parsed{.others = py::reinterpret_steal<py::dict>(nullptr)};
  bool has_device = false;
  bool has_non_blocking = false;
  if (positional > 0) set_once(parsed.device, has_device, values[0], "device");
  if (positional > 1) set_once(parsed.non_blocking, has_non_blocking, values[1], "non_blocking");
  const Py_ssize_t count = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const name = PyTuple_GET_ITEM(keywords, i);
    PyObject* const value = values[positional + i];
    if (PyUnicode_CompareWithASCIIString(name, "device") == 0) {
      set_once(parsed.device, has_device, value, "device");
    } else if (PyUnicode_CompareWithASCIIString(name, "non_blocking") == 0) {
      set_once(parsed.non_blocking, has_non_blocking, value, "non_blocking");
    } else {
      if (!parsed.others) parsed.others = py::dict();
      parsed.others[name] = py::handle(value);
    }
  }
  TORCH_CHECK_TYPE(PyBool_Check(parsed.non_blocking), names->method,
                   "(): argument 'non_blocking' must be bool, not ",
                   Py_TYPE(parsed.non_blocking)->tp_name);
  return parsed;
}

PyObject* override_to(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                      PyObject* keywords) {
  py::tuple arguments(positional + 1);
  arguments[0] = py::handle(self);
  for (Py_ssize_t i = 0; i < positional; ++i) arguments[i + 1] = py::handle(values[i]);
  py::dict named;
  const Py_ssize_t count = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < count; ++i) {
    named[PyTuple_GET_ITEM(keywords, i)] = py::handle(values[positional + i]);
  }
  const py::object method = py::handle(THPVariableClass).attr(names->method.c_str());
  return torch::handle_torch_function_no_python_arg_parser(
      {self}, arguments.ptr(), named.ptr(), names->method.c_str(), method.ptr(),
      ("torch.Tensor." + names->method).c_str());
}

// Tensor.to knows what the other keywords mean and how to refuse them.
PyObject* call_to(PyObject* self, const to_arguments& arguments, c10::DeviceIndex index) {
  py::dict named = arguments.others;
  named["device"] = make_device(index);
  named["non_blocking"] = py::handle(arguments.non_blocking);
  return py::handle(self).attr("to")(**named).release().ptr();
}

PyObject* tensor_to_backend(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                            PyObject* keywords) {
  HANDLE_TH_ERRORS
  if (C10_UNLIKELY(!is_plain(self)) && has_torch_function(self)) {
    return override_to(self, values, positional, keywords);
  }
  const to_arguments arguments = parse(values, positional, keywords);
  const c10::DeviceIndex index = device_argument(arguments.device);
  if (arguments.others) return call_to(self, arguments, index);
  torch::utils::device_lazy_init(core::device_type);
  const at::Tensor& tensor = THPVariable_Unpack(self);
  const bool non_blocking = arguments.non_blocking == Py_True;
  at::Tensor result;
  {
    const py::gil_scoped_release no_gil;
    // All options spelled out, as Tensor.to does: torch.jit.trace records those that are missing as
    // defaults, not as the tensor's.
    result =
        tensor.to(tensor.options().device(c10::Device(core::device_type, index)), non_blocking);
  }
  return THPVariable_Wrap(std::move(result));
  END_HANDLE_TH_ERRORS
}

// torch.compile copied the attributes of torch.Tensor when its part of torch was imported.
void tell_dynamo(const std::string& attribute) {
  const py::object dynamo = imported("torch._dynamo.variables.tensor");
  if (!dynamo || !py::hasattr(dynamo, "all_tensor_attrs")) return;
  dynamo.attr("all_tensor_attrs")[attribute.c_str()] =
      py::handle(THPVariableClass).attr("__dict__")[attribute.c_str()];
}

// torch.overrides keeps its lists of what __torch_function__ sees once they were asked for.
void tell_overrides() {
  const py::module_ overrides = py::module_::import("torch.overrides");
  for (const char* list : {"get_testing_overrides", "_get_overridable_functions"}) {
    const py::object cached = py::getattr(overrides, list, py::none());
    if (py::hasattr(cached, "cache_clear")) cached.attr("cache_clear")();
  }
}

}  // namespace

void add_tensor_methods(const std::string& name) {
  py::object has_torch_function = py::module_::import("torch._C").attr("_has_torch_function_unary");
  names = new tensor_names{.method = name,
                           .property = "is_" + name,
                           .has_torch_function = has_torch_function.release().ptr()};
  add_property(
      THPVariableClass, names->property, &get_is_backend,
      "Is ``True`` if the Tensor is stored on a device of type " + name + ", ``False`` otherwise.");
  add_method(
      THPVariableClass, name, &tensor_to_backend,
      "($self, device=None, non_blocking=False, **kwargs)",
      "Returns this tensor on the given " + name +
          " device: itself if it is there already, else a copy.\n\n"
          "Args:\n"
          "    device (int, str or torch.device, optional): the destination; the current " +
          name +
          " device if None\n"
          "    non_blocking (bool): if True and the source is in pinned memory, the copy is\n"
          "        asynchronous with respect to the host\n"
          "    **kwargs: as for Tensor.to, such as memory_format\n");
  tell_dynamo(names->property);
  tell_dynamo(name);
  tell_overrides();
}

}  // namespace outback::python
