// Adds methods and properties written in C to Python classes that exist already. The descriptors
// are of the same types as those of torch's own C methods, which torch.compile and help() know.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace outback::python {

/// A method with the calling convention METH_FASTCALL | METH_KEYWORDS: `arguments` holds the
/// `positional` ones, then the values of `keywords`, a tuple of names or null. All are borrowed. It
/// returns a new reference, or null with a Python error set.
using fast_method = PyObject* (*)(PyObject* self, PyObject* const* arguments, Py_ssize_t positional,
                                  PyObject* keywords);

/// Adds the method `name` to `type`, or replaces it. `signature` is what inspect.signature shows,
/// as
/// "($self, x=None)". The texts are copied and leaked, as the class keeps the descriptor. Throws
/// pybind11::error_already_set. With the GIL held.
void add_method(PyObject* type, const std::string& name, fast_method method,
                const std::string& signature, const std::string& doc);

/// Adds the read-only property `name` to `type`, as a getset_descriptor and not as a Python
/// property: torch.compile takes the former for an attribute that every tensor has. Otherwise like
/// `add_method`.
void add_property(PyObject* type, const std::string& name, getter get, const std::string& doc);

}  // namespace outback::python
