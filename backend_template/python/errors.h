// C++ exceptions on their way into Python.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Sets the Python error that stands for the exception being handled: torch's own mapping for c10's
/// (AcceleratorError, ValueError, NotImplementedError, torch.OutOfMemoryError, ... without the C++
/// backtrace), pybind11's for its own. Only inside a `catch`.
void set_python_error();

/// The body of a C function that Python calls: runs `body`, whose result is a new reference. An
/// exception becomes the Python error and null.
template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

/// Makes the functions that pybind11 binds in this library raise what `set_python_error` sets.
void translate_bound_exceptions();

}  // namespace outback::python
