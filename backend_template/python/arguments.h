// The arguments of `<name>(device=None, non_blocking=False, **kwargs)`, as METH_FASTCALL passes
// them.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace outback::python {

/// Borrowed from the call.
struct move_arguments {
  PyObject* device = Py_None;
  bool non_blocking = false;
  pybind11::dict others;  // the other keywords; null when there are none
};

/// Throws c10::TypeError in Python's words, with `method` as the function's name.
move_arguments parse_move(const std::string& method, PyObject* const* values, Py_ssize_t positional,
                          PyObject* keywords);

/// The same for `<name>(device=None)`: the device.
PyObject* parse_device(const std::string& method, PyObject* const* values, Py_ssize_t positional,
                       PyObject* keywords);

/// Throws c10::TypeError for a keyword that is left.
void refuse_others(const std::string& method, const move_arguments& arguments);

/// The positional ones as a tuple, and the keywords as a dict.
pybind11::tuple positional_tuple(PyObject* const* values, Py_ssize_t positional);
pybind11::dict keyword_dict(PyObject* const* values, Py_ssize_t positional, PyObject* keywords);

}  // namespace outback::python
