// Turns C++ exceptions into Python errors. translate_bound_exceptions does this for functions that
// pybind11 binds; functions of the Python C API wrap their bodies in `guarded`.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Sets the Python error for the exception that is being handled. Maps c10's exceptions as torch
/// does (torch.AcceleratorError, ValueError, NotImplementedError, torch.OutOfMemoryError, ...),
/// with the text but without the C++ backtrace, and pybind11's exceptions as pybind11 does. Call it
/// only inside a `catch`, with the GIL held.
void set_python_error();

/// Sets a Python error of this type with a text that need not be UTF-8, since it may be a driver's
/// or a path. PyErr_SetString would raise a UnicodeDecodeError for such a text. Call it with the
/// GIL held.
void set_error_text(PyObject* type, const char* text);

/// Runs `body`, the body of a C function that Python calls, and returns its result, a new
/// reference. If `body` throws, sets a Python error and returns null. `body` may also return null
/// with an error set.
template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

/// Makes the functions that pybind11 binds in this library raise the errors of `set_python_error`
/// for c10's exceptions. Other libraries keep their own translation. Registration calls it once.
void translate_bound_exceptions();

}  // namespace outback::python
