// Tensors of ours and of PyTorch's own device for the same hardware (core/twin/twin.h) that share
// memory: what one writes in place, the other one sees, and both have one version counter.
//
// No gradient passes from one to the other, so a tensor that requires one is refused while
// gradients are on: torch's engine cannot run backward over tensors of its own device while a
// backend is registered (pytorch issue 161129). The forward and backward of a
// torch.autograd.Function, whose tensors require none, may share.
#pragma once

#include <ATen/core/Tensor.h>

namespace outback::ops {

/// Returns a tensor of the twin, of type `type`, over the memory of `ours`, with its sizes and
/// strides. The memory lives as long as one of both uses it; if `ours` is resized, the result keeps
/// the memory that it has. record_stream does nothing on the result: call it on `ours`.
///
/// Throws c10::ValueError (Python: ValueError) for a tensor that is not ours, not strided, a
/// wrapper, or on a device without such a twin, and c10::NotImplementedError for one that requires
/// a gradient while gradients are on.
at::Tensor as_twin(const at::Tensor& ours, c10::DeviceType type);

/// Returns a tensor of ours over the memory of `theirs`, a tensor of PyTorch's own device of type
/// `type`; otherwise as as_twin. The storage of `theirs` cannot be resized from then on.
at::Tensor from_twin(const at::Tensor& theirs, c10::DeviceType type);

}  // namespace outback::ops
