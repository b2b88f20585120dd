// Large tensors go to the transport in pieces. The copies of one piece run while the transport has
// another, and the transport has several at once: for 64 MiB that takes less time than the copies
// alone would add. See bench/results for the figures.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace outback::distributed {

/// Returns `tensor`, whose elements lie close together, as one-dimensional tensors of equal size,
/// but for the last one, over its memory, in its order. Returns the tensor itself if it is not
/// large. The answer turns on the number of bytes alone, so that all processes divide alike.
std::vector<at::Tensor> pieces_of(const at::Tensor& tensor);

}  // namespace outback::distributed
