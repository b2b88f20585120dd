#include "backend_template/distributed/gloo/pieces.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <bit>

namespace outback::distributed {
namespace {

// In bytes. Few pieces: each costs the transport a round of messages and two switches of threads.
// Four hide three quarters of the copies, and more cost what they hide. A power of two, as the
// pinned memory is that a piece gets (torch's CachingHostAllocator); the last one is what is left.
size_t size_of_pieces(size_t bytes) {
  constexpr size_t mebibyte = 1 << 20;
  if (bytes < 8 * mebibyte) return bytes;
  return std::bit_floor(bytes / (bytes < 64 * mebibyte ? 2 : 4));
}

}  // namespace

std::vector<at::Tensor> pieces_of(const at::Tensor& tensor) {
  const size_t bytes = size_of_pieces(tensor.nbytes());
  if (bytes == tensor.nbytes()) return {tensor};
  // The pieces are no views for autograd, and need not share the tensor's version counter.
  const at::AutoDispatchBelowADInplaceOrView guard;
  std::vector<at::Tensor> pieces;
  const int64_t numel = tensor.numel();
  const auto size = static_cast<int64_t>(bytes / tensor.element_size());
  for (int64_t first = 0; first < numel; first += size) {
    pieces.push_back(
        tensor.as_strided({std::min(size, numel - first)}, {1}, tensor.storage_offset() + first));
  }
  return pieces;
}

}  // namespace outback::distributed
