#include "backend_template/python/errors.h"

#include <c10/util/Exception.h>
#include <torch/csrc/Exceptions.h>

#include <cstring>
#include <exception>

namespace outback::python {

void set_python_error() {
  try {
    throw;
  } catch (const pybind11::builtin_exception& error) {
    error.set_error();
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
  }
}

void set_error_text(PyObject* type, const char* text) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "backslashreplace");
  if (decoded == nullptr) return;  // no memory: Python has set its MemoryError
  PyErr_SetObject(type, decoded);
  Py_DECREF(decoded);
}

void translate_bound_exceptions() {
  // Local to this library: torch and other extension modules keep their own translation. Exceptions
  // that this lambda rethrows and does not catch go on to pybind11's next translator.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11's signature
  pybind11::register_local_exception_translator([](std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (const c10::Error&) {
      torch::translate_exception_to_python(error);
    }
  });
}

}  // namespace outback::python
