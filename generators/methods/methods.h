// The methods that a backend adds to PyTorch's classes. The registration calls the functions that
// backend_options asks for, once each, with the GIL held. At that time the backend is registered,
// torch.<name> exists, and check_names_free has found the names free.
//
// The methods raise the exceptions of device_argument and parse_move (TypeError, ValueError,
// torch.AcceleratorError), torch.OutOfMemoryError and the runtime's errors.
#pragma once

#include <string>

namespace outback::python {

/// Adds `Tensor.<name>(device=None, non_blocking=False, **kwargs)` and `Tensor.is_<name>`. The
/// other keywords are those of Tensor.to. Method and property both honour __torch_function__, like
/// torch's own methods. The method releases the GIL while it copies.
void add_tensor_methods(const std::string& name);

/// Adds `Module.<name>(device=None)`, which calls `Tensor.<name>` for each parameter and buffer, so
/// `Tensor.<name>` must exist. The method checks all dtypes before it moves any tensor.
void add_module_methods(const std::string& name);

/// Adds `PackedSequence.<name>(*args, **kwargs)`, which takes the arguments of Tensor.to, and
/// `PackedSequence.is_<name>`, which reads `Tensor.is_<name>` of the sequence's data.
void add_packed_sequence_methods(const std::string& name);

/// Adds `<name>(device=None, non_blocking=False)` and `is_<name>` to UntypedStorage and
/// TypedStorage. The methods of TypedStorage warn of its removal, like its other methods.
void add_storage_methods(const std::string& name);

/// Replaces `Tensor.__dlpack_device__` and `Tensor.__dlpack__`, since torch's own methods refuse
/// this device's tensors, and do not know that its memory may be CUDA memory. No option controls
/// this, because it adds no name.
void add_dlpack_methods();

}  // namespace outback::python
