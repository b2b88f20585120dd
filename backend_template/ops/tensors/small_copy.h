// torch's CPU loop for copying, run on tensors as they are: for small copies inside a kernel, where
// an alias or a stream costs more than the copy. And what is small for a stream.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

namespace outback::ops {

/// In bytes. Up to this size the calling thread has copied or filled memory before a stream's
/// thread could have woken, and finds the bytes in its own core's cache then. For idle streams.
inline constexpr size_t too_small_for_a_stream = size_t{1} << 20;

/// Copies `src` into `dst` on the calling thread, broadcast and converted as copy_ does it; `dst`
/// holds the result on return. Waits for nothing.
///
/// Both tensors must be strided and dense, without a conj or neg bit, and lie in memory that the
/// CPU addresses and that no stream is using: call core::drain first. Throws c10::Error if the
/// shapes do not broadcast or if `dst` overlaps itself or a part of `src`.
void copy_by_loop(const at::Tensor& dst, const at::Tensor& src);

}  // namespace outback::ops
