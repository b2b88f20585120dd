// The CPU's copying loop on tensors as they are.
#pragma once

#include <ATen/core/Tensor.h>

namespace outback::ops {

/// Copies `src` into `dst`, broadcast and converted as copy_ does, on the calling thread: the bytes
/// are there on return. Both are plain tensors without conj and neg bits, in memory that the CPU
/// addresses and that no stream is working on.
void copy_by_loop(const at::Tensor& dst, const at::Tensor& src);

}  // namespace outback::ops
