// Runs torch's CPU loop for copying directly on tensors. For small copies inside a kernel, where an
// alias or a stream costs more than the copy. Also defines which sizes are too small for a stream.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace outback::ops {

/// In bytes, for idle streams. Up to this size the calling thread finishes a copy or fill before a
/// stream's thread would wake up, and then has the bytes in its own core's cache.
inline constexpr size_t too_small_for_a_stream = size_t{1} << 20;

/// Copies `src` into `dst` on the calling thread, with the broadcasting and conversion of copy_;
/// `dst` has the result on return. Does not wait for any stream.
///
/// Both tensors must be strided and dense, without a conj or neg bit, and lie in memory that the
/// CPU addresses and that no stream is using: call core::drain first. Throws c10::Error if the
/// shapes do not broadcast or if `dst` overlaps itself or a part of `src`.
void copy_by_loop(const at::Tensor& dst, const at::Tensor& src);

}  // namespace outback::ops
