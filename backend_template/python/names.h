// The backend's names in Python: checks that they are free, and renames PrivateUse1 in torch's
// Python. Registration calls both functions, with the GIL held.
#pragma once

#include <string>

#include "outback/backend.h"

namespace outback::python {

/// Throws c10::Error if a name that this backend needs is in use in Python already: torch.<name>,
/// or a method or property of Tensor, Module, PackedSequence or the storages that `options` ask
/// for. Also throws if two options exclude each other. Changes nothing.
void check_names_free(const backend_options& options);

/// Renames PrivateUse1 in Python: the global that torch.utils.backend_registration reads, and the
/// aliases DeviceType.<NAME> and ProfilerActivity.<NAME>. Call it after
/// c10::register_privateuse1_backend, which renames PrivateUse1 in C++.
void rename_in_python(const std::string& name);

}  // namespace outback::python
