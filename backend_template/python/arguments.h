// Parses the arguments of `<name>(device=None, non_blocking=False, **kwargs)`, the method of
// Tensor, storages and others, as CPython's calling convention METH_FASTCALL | METH_KEYWORDS passes
// them. The parser is written by hand, so that these methods cost no more than torch's own.
//
// In all functions `values` holds the `positional` arguments without self, then the values of
// `keywords`, a tuple of names or null. Call all functions with the GIL held.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace outback::python {

/// The arguments of one call. `device` is borrowed from the call.
struct move_arguments {
  PyObject* device = Py_None;
  bool non_blocking = false;
  pybind11::dict others;  // all other keywords; a null handle without them
};

/// Throws c10::TypeError (Python: TypeError) in Python's own words, with `method` as the function's
/// name: for too many arguments, one that is given twice, and a `non_blocking` that is no bool.
move_arguments parse_move(const std::string& method, PyObject* const* values, Py_ssize_t positional,
                          PyObject* keywords);

/// Does the same for `<name>(device=None)`. Returns the device, borrowed from the call, or None.
/// Throws also for any other keyword.
PyObject* parse_device(const std::string& method, PyObject* const* values, Py_ssize_t positional,
                       PyObject* keywords);

/// Throws c10::TypeError if `arguments` has other keywords, and names the first one.
void refuse_others(const std::string& method, const move_arguments& arguments);

/// Returns the positional arguments as a new tuple.
pybind11::tuple positional_tuple(PyObject* const* values, Py_ssize_t positional);
/// Returns the keywords and their values as a new dict.
pybind11::dict keyword_dict(PyObject* const* values, Py_ssize_t positional, PyObject* keywords);

}  // namespace outback::python
