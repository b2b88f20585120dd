// Tensors of ours and of PyTorch's own device for the same hardware (core/twin/twin.h) that share
// memory. What one writes in place, the other one sees.
#pragma once

#include <ATen/core/Tensor.h>

namespace outback::ops {

/// Returns a tensor of the twin over the memory of `ours`, with its sizes, strides and version
/// counter. The memory lives as long as one of both uses it; resizing one of them gives it memory of
/// its own.
///
/// Throws c10::ValueError (Python: ValueError) for a tensor that is not ours, not strided, or on a
/// device without a twin, and c10::NotImplementedError for one that requires a gradient while
/// gradients are on.
at::Tensor as_twin(const at::Tensor& ours);

/// Returns a tensor of ours over the memory of `theirs`, a tensor of PyTorch's own device; otherwise
/// as as_twin. It keeps the storage of `theirs`, which must not be resized meanwhile.
at::Tensor from_twin(const at::Tensor& theirs);

}  // namespace outback::ops
