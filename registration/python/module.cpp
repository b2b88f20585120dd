#include "outback/module.h"

#include <cstring>

#include "outback/python.h"

namespace py = pybind11;

namespace outback::detail {
namespace {

backend_options (*options_of_module)() = nullptr;

// PyErr_SetString would make a UnicodeDecodeError of a text that is not UTF-8, a driver's or a
// path, and `import torch` goes on after an ImportError only.
void set_import_error(const char* text) {
  PyObject* const decoded =
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "backslashreplace");
  if (decoded == nullptr) return;  // no memory, and Python says so
  PyErr_SetObject(PyExc_ImportError, decoded);
  Py_DECREF(decoded);
}

// With the texts of PYBIND11_MODULE. Python executes the module again when it was taken out of
// sys.modules: a runtime that the options made would be another one then. Leaked, with the backend.
int execute(PyObject* self) {
  try {
    static const auto& options = *new backend_options(options_of_module());
    auto module = py::reinterpret_borrow<py::module_>(self);
    register_backend(module, options);
    return 0;
  } catch (py::error_already_set& error) {
    py::raise_from(error, PyExc_ImportError, "initialization failed");
  } catch (const c10::Error& error) {  // of the options; what() would have torch's frames
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
