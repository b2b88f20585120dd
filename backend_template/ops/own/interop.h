// Makes tensors of this backend and of its twin, PyTorch's own device for the same hardware
// (core/twin/twin.h), share memory: each sees the in-place writes of the other, and both share one
// version counter.
//
// No gradient passes from one tensor to the other, so a tensor that requires a gradient is refused
// while gradients are on: while a backend is registered, torch's engine cannot run backward over
// tensors of PyTorch's own devices (pytorch issue 161129). The tensors in forward and backward of a
// torch.autograd.Function require no gradient, so they may share memory.
#pragma once

#include <ATen/core/Tensor.h>

namespace outback::ops {

/// Returns a tensor of the twin, of type `type`, over the memory of `ours`, with its sizes and
/// strides. The memory lives as long as one of the two tensors uses it. If `ours` is resized, the
/// result keeps the old memory. record_stream does nothing on the result: call it on `ours`.
///
/// Throws c10::ValueError (Python: ValueError) for a tensor that is not of this backend, not
/// strided, a wrapper, or on a device without a twin of that type, and c10::NotImplementedError for
/// a tensor that requires a gradient while gradients are on.
at::Tensor as_twin(const at::Tensor& ours, c10::DeviceType type);

/// Returns a tensor of this backend over the memory of `theirs`, a tensor of the twin, of type
/// `type`. Otherwise works like as_twin. The storage of `theirs` can no longer be resized.
at::Tensor from_twin(const at::Tensor& theirs, c10::DeviceType type);

}  // namespace outback::ops
