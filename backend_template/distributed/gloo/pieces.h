// Large tensors go to the transport in pieces. The copies of one piece run while the transport
// sends other pieces, several at once. For 64 MiB the whole operation then takes less time than the
// copies would add to the transport's own time. bench/results has the figures.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace outback::distributed {

/// Returns one-dimensional tensors over the memory of `tensor`, which must have no gaps, in memory
/// order. All have equal size, except for the last one. Returns `tensor` itself if it is not large.
/// The sizes depend only on the number of bytes, so all processes divide a tensor in the same way.
std::vector<at::Tensor> pieces_of(const at::Tensor& tensor);

}  // namespace outback::distributed
