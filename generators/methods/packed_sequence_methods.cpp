// PackedSequence.<name>() and .is_<name>, made like PackedSequence.cuda (torch/nn/utils/rnn.py).
#include <c10/util/Exception.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/autograd/python_variable.h>

#include <string>

#include "backend_template/python/arguments.h"
#include "backend_template/python/device_argument.h"
#include "backend_template/python/errors.h"
#include "generators/methods/descriptors.h"
#include "generators/methods/docstrings.h"
#include "generators/methods/methods.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

PyObject* get_packed_sequence_is_backend(PyObject* self, void* /*closure*/) {
  return guarded([self] {
    const std::string property = "is_" + backend_name();
    return py::handle(self).attr("data").attr(property.c_str()).cast<py::object>().release().ptr();
  });
}

// Returns a device argument (text, a number or a torch.device) as a torch.device of this backend,
// since Tensor.to would read a number differently. Other arguments, such as dtypes and tensors, are
// returned as they are: Tensor.to reads them.
py::object as_torch_device(py::handle argument) {
  const bool is_device = PyUnicode_Check(argument.ptr()) || PyNumber_Check(argument.ptr()) ||
                         THPDevice_Check(argument.ptr());
  if (!is_device || THPVariable_Check(argument.ptr())) {
    return py::reinterpret_borrow<py::object>(argument);
  }
  return make_device(device_argument(argument));
}

// Puts a device before arguments of Tensor.to that name none. Behind a device, Tensor.to takes a
// dtype but no tensor, so a tensor becomes its dtype.
py::tuple with_device(const std::string& device, const py::tuple& arguments) {
  py::list all;
  all.append(device);
  const size_t first = !arguments.empty() && arguments[0].is_none() ? 1 : 0;
  for (size_t i = first; i < arguments.size(); ++i) {
    const py::object argument = arguments[i];
    all.append(THPVariable_Check(argument.ptr()) ? argument.attr("dtype").cast<py::object>()
                                                 : argument);
  }
  return py::tuple(all);
}

// Asks Tensor.to where it would move the data, with a tensor of no elements. It raises an error for
// arguments that it does not know.
py::object destination(const py::object& data, const py::tuple& arguments, const py::dict& named) {
  const py::object empty = py::module_::import("torch").attr("empty")(
      0, py::arg("dtype") = data.attr("dtype"), py::arg("device") = data.attr("device"));
  return empty.attr("to")(*arguments, **named).attr("device");
}

// If the arguments name no device, a sequence goes to the backend's current device, and one that is
// on any device of the backend stays there, as with PackedSequence.cuda.
PyObject* packed_sequence_to_backend(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                                     PyObject* keywords) {
  return guarded([&] {
    py::tuple arguments = positional_tuple(values, positional);
    py::dict named = keyword_dict(values, positional, keywords);
    if (positional > 0) arguments[0] = as_torch_device(values[0]);
    if (named.contains("device")) named["device"] = as_torch_device(named["device"]);

    const py::object data = py::handle(self).attr("data");
    const py::object device = destination(data, arguments, named);
    if (device.attr("type").cast<std::string>() != backend_name()) {
      TORCH_CHECK_VALUE(device.equal(data.attr("device")), "expected a device of type ",
                        backend_name(), ", got \"", std::string(py::str(device)), "\"");
      if (named.contains("device")) {  // device=None
        named["device"] = backend_name();
      } else {
        arguments = with_device(backend_name(), arguments);
      }
    }
    return py::handle(self).attr("to")(*arguments, **named).release().ptr();
  });
}

}  // namespace

void add_packed_sequence_methods(const std::string& name) {
  const py::object type = py::module_::import("torch.nn.utils.rnn").attr("PackedSequence");
  add_property(type.ptr(), "is_" + name, &get_packed_sequence_is_backend,
               property_doc(name, "sequence's data"));
  add_method(type.ptr(), name, &packed_sequence_to_backend, "($self, *args, **kwargs)",
             packed_sequence_doc(name));
}

}  // namespace outback::python
