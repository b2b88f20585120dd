// The names under which Python knows the backend.
#pragma once

#include <string>

#include "outback/backend.h"

namespace outback::python {

/// Throws c10::Error when Python has something already under a name that this backend would take.
/// Changes nothing.
void check_names_free(const backend_options& options);

/// Renames PrivateUse1 in Python too: the global that torch's Python reads, and the aliases
/// `DeviceType.<NAME>` and `ProfilerActivity.<NAME>`. After the rename in C++.
void rename_in_python(const std::string& name);

}  // namespace outback::python
