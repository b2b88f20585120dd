// Modules of Python, as C++ gets them.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Returns the module if sys.modules has it, else a null object. Imports nothing. With the GIL
/// held.
pybind11::object imported(const char* name);

/// Returns the module, which is imported if need be. With the GIL held; throws
/// pybind11::error_already_set. pybind11's own function asks the importer of the code that calls
/// us, and that of torch.package knows none of our modules.
pybind11::module_ import_module(const char* name);

}  // namespace outback::python
