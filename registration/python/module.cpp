// The extension module of OUTBACK_MODULE.
#include "outback/module.h"

#include "backend_template/python/errors.h"
#include "backend_template/python/module_definition.h"
#include "outback/python.h"

namespace py = pybind11;

namespace outback::detail {
namespace {

backend_options (*options_of_module)() = nullptr;

// Executes the module: registers the backend. What it throws becomes an ImportError with the text
// that PYBIND11_MODULE would give it. The options are made once and leaked: Python executes the
// module again if it was taken out of sys.modules, and options made anew might hold another
// runtime.
int execute(PyObject* self) {
  try {
    static const auto& options = *new backend_options(options_of_module());
    auto module = py::reinterpret_borrow<py::module_>(self);
    register_backend(module, options);
    return 0;
  } catch (py::error_already_set& error) {
    py::raise_from(error, PyExc_ImportError, "initialization failed");
  } catch (const c10::Error& error) {  // thrown by the options; what() would add torch's backtrace
    python::set_error_text(PyExc_ImportError, error.what_without_backtrace());
  } catch (const std::exception& error) {
    python::set_error_text(PyExc_ImportError, error.what());
  }
  return -1;
}

}  // namespace

PyObject* module_definition(const char* name, backend_options (*options)()) noexcept {
  options_of_module = options;
  return python::module_definition(name, &execute);
}

}  // namespace outback::detail
