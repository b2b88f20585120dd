// The methods that a backend adds to PyTorch's classes. The registration calls these functions,
// those that backend_options asks for, once each: with the GIL held, when the backend is registered
// and torch.<name> exists, and after check_names_free has found the names free.
//
// The methods raise what device_argument and parse_move throw (TypeError, ValueError,
// torch.AcceleratorError), besides torch.OutOfMemoryError and the runtime's errors.
#pragma once

#include <string>

namespace outback::python {

/// Adds `Tensor.<name>(device=None, non_blocking=False, **kwargs)` and `Tensor.is_<name>`. The
/// other keywords are those of Tensor.to. Both honour __torch_function__, as torch's own methods
/// do. The method releases the GIL while it copies.
void add_tensor_methods(const std::string& name);

/// Adds `Module.<name>(device=None)`, which calls `Tensor.<name>` for each parameter and buffer, so
/// that method must exist. Checks all dtypes before it moves anything.
void add_module_methods(const std::string& name);

/// Adds `PackedSequence.<name>(*args, **kwargs)`, whose arguments are those of Tensor.to, and
/// `PackedSequence.is_<name>`, which reads `Tensor.is_<name>` of the sequence's data.
void add_packed_sequence_methods(const std::string& name);

/// Adds `<name>(device=None, non_blocking=False)` and `is_<name>` to UntypedStorage and
/// TypedStorage. Those of TypedStorage warn of its removal, as its other methods do.
void add_storage_methods(const std::string& name);

/// Replaces `Tensor.__dlpack_device__` and `Tensor.__dlpack__`, since torch's own refuse this
/// device's tensors, and do not know that its memory may be CUDA's. Needs no option: no name is
/// added.
void add_dlpack_methods();

}  // namespace outback::python
