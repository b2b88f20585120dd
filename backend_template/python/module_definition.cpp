#include "backend_template/python/module_definition.h"

#include <pybind11/pybind11.h>

namespace outback::python {

PyObject* module_definition(const char* name, int (*execute)(PyObject* module)) noexcept {
  PYBIND11_CHECK_PYTHON_VERSION
  static PyModuleDef_Slot slots[] = {
      {Py_mod_exec, reinterpret_cast<void*>(execute)},
#ifdef Py_mod_multiple_interpreters  // from Python 3.12 on
      {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
      {0, nullptr}};
  static PyModuleDef definition = {
      PyModuleDef_HEAD_INIT, name, nullptr, 0, nullptr, slots, nullptr, nullptr, nullptr};
  return PyModuleDef_Init(&definition);
}

}  // namespace outback::python
