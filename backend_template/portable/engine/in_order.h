// Tensors whose elements kernels take in memory order, together with another tensor's.
#pragma once

#include <ATen/core/Tensor.h>

#include <ATen/ops/empty_strided.h>

namespace outback::portable {

/// Returns true if element i in memory order of each tensor is the same element of both. `first`
/// must be non-overlapping and dense.
inline bool is_in_order(const at::Tensor& tensor, const at::Tensor& first) {
  return tensor.sizes() == first.sizes() &&
         (tensor.strides() == first.strides() || (tensor.is_contiguous() && first.is_contiguous()));
}

/// Returns `tensor`, of the sizes of `first`, or a copy of it, in the order of `first`.
inline at::Tensor in_order(const at::Tensor& tensor, const at::Tensor& first) {
  if (is_in_order(tensor, first)) return tensor;
  return at::empty_strided(first.sizes(), first.strides(), tensor.options()).copy_(tensor);
}

}  // namespace outback::portable
