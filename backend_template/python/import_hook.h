// Something to do once a Python module is there, without importing it for that.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <string>

namespace outback::python {

/// Runs `action` with the module `name`: now if it is imported already, else at the end of its
/// import. An error that leaves `action` then leaves the import. At most once.
void when_imported(const std::string& name, std::function<void(pybind11::module_)> action);

/// The module if it is imported already, else null.
pybind11::object imported(const char* name);

}  // namespace outback::python
