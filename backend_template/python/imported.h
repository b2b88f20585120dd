// Modules of Python that somebody may have imported.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Returns the module if sys.modules has it, else a null object. Imports nothing. With the GIL
/// held.
pybind11::object imported(const char* name);

}  // namespace outback::python
