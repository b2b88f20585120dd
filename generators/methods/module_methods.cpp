// Module.<name>(), by way of Module._apply, which calls a function with each tensor of the module.
#include <string>

#include "backend_template/python/arguments.h"
#include "backend_template/python/device_argument.h"
#include "backend_template/python/embedded.h"
#include "backend_template/python/errors.h"
#include "backend_template/python/imported.h"
#include "generators/methods/descriptors.h"
#include "generators/methods/docstrings.h"
#include "generators/methods/methods.h"
#include "outback/backend.h"

namespace py = pybind11;

namespace outback::python {
namespace {

PyObject* module_to_backend(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                            PyObject* keywords) {
  return guarded([&] {
    // Reads the device once, so that every tensor goes to the same one even if the current device
    // changes, and so that a wrong device is an error for a module without tensors too.
    const py::object device =
        make_device(device_argument(parse_device(backend_name(), values, positional, keywords)));
    return part("module_methods").attr("move")(py::handle(self), device).release().ptr();
  });
}

// Adds the method to those that a parameter of a lazy module allows: such a parameter has no shape
// yet and refuses all other methods.
void allow_uninitialized(const std::string& name) {
  const py::object tensor = import_module("torch").attr("Tensor");
  const py::object lazy = import_module("torch.nn.parameter").attr("UninitializedTensorMixin");
  lazy.attr("_allowed_methods").attr("append")(tensor.attr(name.c_str()));
}

}  // namespace

void add_module_methods(const std::string& name) {
  const py::object module = import_module("torch.nn").attr("Module");
  add_method(module.ptr(), name, &module_to_backend, "($self, device=None)", module_doc(name));
  allow_uninitialized(name);
}

}  // namespace outback::python
