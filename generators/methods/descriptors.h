// Adds methods and properties written in C to existing Python classes. The descriptors have the
// same types as the descriptors of torch's own C methods, so torch.compile and help() support them.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace outback::python {

/// A method with the calling convention METH_FASTCALL | METH_KEYWORDS: `arguments` holds the
/// `positional` ones, then the values of `keywords`, a tuple of names or null. All arguments are
/// borrowed. The method returns a new reference, or null with a Python error set.
using fast_method = PyObject* (*)(PyObject* self, PyObject* const* arguments, Py_ssize_t positional,
                                  PyObject* keywords);

/// Adds the method `name` to `type`, or replaces it. `signature` is what inspect.signature shows,
/// as "($self, x=None)". Copies and leaks the texts, because the class keeps the descriptor. Throws
/// pybind11::error_already_set. Call it with the GIL held.
void add_method(PyObject* type, const std::string& name, fast_method method,
                const std::string& signature, const std::string& doc);

/// Adds the read-only property `name` to `type`, as a getset_descriptor and not as a Python
/// property: torch.compile treats a getset_descriptor as an attribute that every tensor has.
/// Otherwise like `add_method`.
void add_property(PyObject* type, const std::string& name, getter get, const std::string& doc);

}  // namespace outback::python
