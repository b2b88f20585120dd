// PackedSequence.<name>() and .is_<name>, made like PackedSequence.cuda (torch/nn/utils/rnn.py).
#include <string>

#include "backend_template/python/arguments.h"
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

PyObject* get_packed_sequence_is_backend(PyObject* self, void* /*closure*/) {
  return guarded([self] {
    const std::string property = "is_" + backend_name();
    return py::handle(self).attr("data").attr(property.c_str()).cast<py::object>().release().ptr();
  });
}

PyObject* packed_sequence_to_backend(PyObject* self, PyObject* const* values, Py_ssize_t positional,
                                     PyObject* keywords) {
  return guarded([&] {
    const py::tuple arguments = positional_tuple(values, positional);
    const py::dict named = keyword_dict(values, positional, keywords);
    return part("packed_sequence")
        .attr("move")(py::handle(self), *arguments, **named)
        .release()
        .ptr();
  });
}

}  // namespace

void add_packed_sequence_methods(const std::string& name) {
  const py::object type = import_module("torch.nn.utils.rnn").attr("PackedSequence");
  add_property(type.ptr(), "is_" + name, &get_packed_sequence_is_backend,
               property_doc(name, "sequence's data"));
  add_method(type.ptr(), name, &packed_sequence_to_backend, "($self, *args, **kwargs)",
             packed_sequence_doc(name));
}

}  // namespace outback::python
