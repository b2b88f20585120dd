// How a C++ exception becomes a Python error. Functions that pybind11 binds get this by
// translate_bound_exceptions; C functions of the Python C API wrap their bodies in `guarded`.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Sets the Python error for the exception that is being handled. For c10's exceptions it is
/// torch's own mapping (torch.AcceleratorError, ValueError, NotImplementedError,
/// torch.OutOfMemoryError, ...) with the text but without the C++ backtrace, for pybind11's
/// exceptions pybind11's. To be called inside a `catch` only, with the GIL held.
void set_python_error();

/// The body of a C function that Python calls. Returns what `body` returns, a new reference, or
/// null with a Python error set if `body` throws. `body` may also return null with an error set.
template <class Body>
PyObject* guarded(Body&& body) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

/// Makes the functions that pybind11 binds in this library raise, for c10's exceptions, what
/// `set_python_error` sets. Once, when the backend is registered; other libraries keep their own
/// translation.
void translate_bound_exceptions();

}  // namespace outback::python
