#include "backend_template/distributed/pieces.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>

namespace outback::distributed {
namespace {

// Large beside what a message costs whatever its size, and small beside the tensors of training.
constexpr size_t piece_bytes = 4 << 20;

}  // namespace

std::vector<at::Tensor> pieces_of(const at::Tensor& tensor) {
  const int64_t count = static_cast<int64_t>(tensor.nbytes() / piece_bytes);
  if (count < 2) return {tensor};
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
