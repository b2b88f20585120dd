#include "backend_template/ops/copies/byte_ranges.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace outback::ops {

byte_range bytes_of(const c10::TensorImpl& tensor) {
  if (tensor.numel() == 0) return {};
  // torch has no negative strides, so the first element is the one at the storage offset.
  int64_t last = tensor.storage_offset();
  for (int64_t d = 0; d < tensor.dim(); ++d) last += (tensor.size(d) - 1) * tensor.stride(d);
  const size_t item = tensor.itemsize();
  return {static_cast<size_t>(tensor.storage_offset()) * item,
          (static_cast<size_t>(last) + 1) * item};
}

// Merges `added` with every range that it overlaps or touches.
void byte_ranges::add(byte_range added) {
  if (added.empty()) return;
  std::vector<byte_range> merged;
  for (const byte_range& range : ranges_) {
    if (range.end < added.begin) {
      merged.push_back(range);
    } else if (added.end < range.begin) {
      merged.push_back(added);
      added = range;  // the rest of the old ranges follow in order
    } else {
      added = {std::min(added.begin, range.begin), std::max(added.end, range.end)};
    }
  }
  merged.push_back(added);
  ranges_ = std::move(merged);
}

size_t byte_ranges::size() const {
  size_t sum = 0;
  for (const byte_range& range : ranges_) sum += range.end - range.begin;
  return sum;
}

byte_ranges byte_ranges::others(size_t size) const {
  byte_ranges rest;
  size_t at = 0;
  for (const byte_range& range : ranges_) {
    rest.add({at, std::min(range.begin, size)});
    at = range.end;
  }
  rest.add({at, size});
  return rest;
}

}  // namespace outback::ops
