// The methods that a backend adds to PyTorch's classes, as the C descriptors that PyTorch's own
// are.
#pragma once

#include <string>

namespace outback::python {

/// Adds `Tensor.<name>(device=None, non_blocking=False, **kwargs)` and `Tensor.is_<name>`. Once.
void add_tensor_methods(const std::string& name);

/// Adds `Module.<name>(device=None)`, which calls `Tensor.<name>`. Once.
void add_module_methods(const std::string& name);

/// Adds `PackedSequence.<name>(*args, **kwargs)` and `PackedSequence.is_<name>`, which call
/// Tensor's. Once.
void add_packed_sequence_methods(const std::string& name);

/// Adds `<name>(device=None, non_blocking=False)` and `is_<name>` to UntypedStorage and
/// TypedStorage. Once.
void add_storage_methods(const std::string& name);

/// Replaces `Tensor.__dlpack_device__`, which refuses this device's tensors. Once.
void add_dlpack_methods();

}  // namespace outback::python
