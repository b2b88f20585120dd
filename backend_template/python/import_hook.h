// Runs an action when a Python module is imported, without importing it for that: parts of torch
// such as torch._dynamo take seconds to import, and most programs never need them. With the GIL
// held.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <string>

namespace outback::python {

/// Calls `action` once with the module `name`: now if it is imported already, else at the end of
/// its import. If `action` throws then, the import fails with that error. After an import that
/// failed, the next one calls `action` again, so what an `action` did before it threw must not keep
/// it from succeeding. Until it has succeeded `action` is kept, with all it captures.
void when_imported(const std::string& name, std::function<void(pybind11::module_)> action);

/// Returns the module if sys.modules has it, else a null object. Imports nothing.
pybind11::object imported(const char* name);

}  // namespace outback::python
