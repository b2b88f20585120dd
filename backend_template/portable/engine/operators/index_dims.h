// What operators with an index along one dimension have in common.
#pragma once

#include <ATen/core/Tensor.h>

#include "backend_template/portable/engine/walk.h"

namespace outback::portable {

/// Returns a tensor without dimensions as one of size 1, and any other as it is.
inline at::Tensor at_least_1d(const at::Tensor& tensor) {
  return tensor.dim() == 0 ? tensor.unsqueeze(0) : tensor;
}

/// Returns true if `index` has places along one dimension, and is on the device of `tensor`.
inline bool is_index_of(const at::Tensor& index, const at::Tensor& tensor) {
  return index.device() == tensor.device() && index.dim() <= 1 &&
         (index.scalar_type() == c10::kLong || index.scalar_type() == c10::kInt);
}

/// Walks over `sizes`, with a one-dimensional index along dimension `dim`.
inline walk along_rows(c10::IntArrayRef sizes, int64_t dim, const at::Tensor& index) {
  walk elements(sizes);
  elements.add(walk::index, index, only(static_cast<int64_t>(sizes.size()), dim, index.stride(0)));
  return elements;
}

}  // namespace outback::portable
