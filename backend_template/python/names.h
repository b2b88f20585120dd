// The names under which Python knows the backend: checks that they are free, and the renaming of
// PrivateUse1 in torch's Python. Called by the registration, with the GIL held.
#pragma once

#include <string>

#include "outback/backend.h"

namespace outback::python {

/// Throws c10::Error if Python has something already under a name that this backend would take:
/// torch.<name>, the methods and properties of Tensor, Module, PackedSequence and the storages that
/// `options` ask for. Also throws if the options exclude each other. Changes nothing.
void check_names_free(const backend_options& options);

/// Renames PrivateUse1 in Python: the global that torch.utils.backend_registration reads, and the
/// aliases DeviceType.<NAME> and ProfilerActivity.<NAME>. To be called after
/// c10::register_privateuse1_backend, which renames it in C++.
void rename_in_python(const std::string& name);

}  // namespace outback::python
