// C methods and properties for Python classes that exist already.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace outback::python {

/// A method with the calling convention METH_FASTCALL | METH_KEYWORDS.
using fast_method = PyObject* (*)(PyObject* self, PyObject* const* arguments, Py_ssize_t positional,
                                  PyObject* keywords);

/// Adds the method `name` to `type`. `signature` is what inspect.signature shows, "(self, x=None)".
void add_method(PyObject* type, const std::string& name, fast_method method,
                const std::string& signature, const std::string& doc);

/// Adds the read-only property `name` to `type`. A getset_descriptor and not a Python property:
/// torch.compile knows the former as an attribute that every tensor has.
void add_property(PyObject* type, const std::string& name, getter get, const std::string& doc);

}  // namespace outback::python
