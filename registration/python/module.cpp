// The extension module of OUTBACK_MODULE, made with Python's C API (multi-phase initialization).
#include "outback/module.h"

#include <cstring>

#include "outback/python.h"

namespace py = pybind11;

namespace outback::detail {
namespace {

backend_options (*options_of_module)() = nullptr;

// Sets an ImportError with a text that need not be UTF-8, since it may be a driver's or a path.
// PyErr_SetString would raise a UnicodeDecodeError for such a text, and `import torch`, which loads
// backends, goes on after an ImportError only.
void set_import_error(const char* text) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "backslashreplace");
  if (decoded == nullptr) return;  // no memory: Python has set its MemoryError
  PyErr_SetObject(PyExc_ImportError, decoded);
  Py_DECREF(decoded);
}

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
    set_import_error(error.what_without_backtrace());
  } catch (const std::exception& error) {
    set_import_error(error.what());
  }
  return -1;
}

}  // namespace

PyObject* module_definition(const char* name, backend_options (*options)()) noexcept {
  PYBIND11_CHECK_PYTHON_VERSION
  static PyModuleDef_Slot slots[] = {
      {Py_mod_exec, reinterpret_cast<void*>(&execute)},
#ifdef Py_mod_multiple_interpreters  // from Python 3.12 on
      {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
      {0, nullptr}};
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, nullptr, nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};
  options_of_module = options;
  definition.m_name = name;
  return PyModuleDef_Init(&definition);
}

}  // namespace outback::detail
