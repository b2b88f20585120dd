// The definition of an extension module, of what executes it.
#pragma once

#include <Python.h>

namespace outback::python {

/// Returns what PyInit_<name> has to return, a borrowed reference, or null with the error set. The
/// module is made in two phases, so that Python calls `execute` again if the module was taken out
/// of sys.modules. `execute` gets the module, and returns 0, or -1 with the error set. A library
/// has one such module. Call it with the GIL held.
PyObject* module_definition(const char* name, int (*execute)(PyObject* module)) noexcept;

}  // namespace outback::python
