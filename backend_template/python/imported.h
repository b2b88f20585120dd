// Looks up and imports Python modules from C++.
#pragma once

#include <pybind11/pybind11.h>

namespace outback::python {

/// Returns the module if sys.modules has it, else a null object. Imports nothing. Call it with the
/// GIL held.
pybind11::object imported(const char* name);

/// Returns the module, and imports it if needed. Call it with the GIL held. Throws
/// pybind11::error_already_set. It does not use pybind11's own function, which asks the importer of
/// the calling Python code: the importer of torch.package does not know Outback's modules.
pybind11::module_ import_module(const char* name);

}  // namespace outback::python
