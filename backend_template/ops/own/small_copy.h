// torch's CPU loop for copying, run on tensors as they are: for small copies inside a kernel, where
// an alias or a stream costs more than the copy.
#pragma once

#include <ATen/core/Tensor.h>

namespace outback::ops {

/// Copies `src` into `dst` on the calling thread, broadcast and converted as copy_ does it; `dst`
/// holds the result on return. Waits for nothing.
///
/// Both tensors must be strided and dense, without a conj or neg bit, and lie in memory that the
/// CPU addresses and that no stream is using: call core::drain first. Throws c10::Error if the
/// shapes do not broadcast or if `dst` overlaps itself or a part of `src`.
void copy_by_loop(const at::Tensor& dst, const at::Tensor& src);

}  // namespace outback::ops
