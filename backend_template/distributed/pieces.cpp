#include "backend_template/distributed/pieces.h"

#include <ATen/core/LegacyTypeDispatch.h>

namespace outback::distributed {
namespace {

// Few: each costs the transport a round of messages and two switches of threads. Four hide three
// quarters of the copies, and more cost what they hide.
int64_t number_of_pieces(size_t bytes) {
  constexpr size_t mebibyte = 1 << 20;
  if (bytes >= 64 * mebibyte) return 4;
  return bytes >= 8 * mebibyte ? 2 : 1;
}

}  // namespace

std::vector<at::Tensor> pieces_of(const at::Tensor& tensor) {
  const int64_t count = number_of_pieces(tensor.nbytes());
  if (count == 1) return {tensor};
  // The pieces are no views for autograd, and need not share the tensor's version counter.
  const at::AutoDispatchBelowADInplaceOrView guard;
  std::vector<at::Tensor> pieces;
  pieces.reserve(static_cast<size_t>(count));
  const int64_t numel = tensor.numel();
  for (int64_t piece = 0; piece < count; ++piece) {
    const int64_t first = numel * piece / count;
    const int64_t size = numel * (piece + 1) / count - first;
    pieces.push_back(tensor.as_strided({size}, {1}, tensor.storage_offset() + first));
  }
  return pieces;
}

}  // namespace outback::distributed
