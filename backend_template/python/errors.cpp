#include "backend_template/python/errors.h"

#include <c10/util/Exception.h>
#include <torch/csrc/Exceptions.h>

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
