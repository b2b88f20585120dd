#include "backend_template/core/memory/allocator/size_policy.h"

#include <c10/core/AllocatorConfig.h>

#include <algorithm>
#include <bit>

namespace outback::core {
namespace {

using config = c10::CachingAllocator::AcceleratorAllocatorConfig;

// As in torch.cuda's allocator (kSmallBuffer).
constexpr size_t small_segment = 2 * mebibyte;

// Requests below a quarter of a large segment share one; larger ones get a segment of their own
// size. In this way the traces of two transformers (tests/core/traces) take 1.04 and 1.11 times the
// peak of their tensors. With the sizes of torch.cuda's allocator, segments of 20 MiB and steps of
// 2 MiB, they take 1.09 and 1.17 times.
constexpr size_t large_segment = 16 * mebibyte;
constexpr size_t sharers = 4;
constexpr size_t default_of_torch = 20 * mebibyte;

// Returns the size of shared large segments. torch does not say whether the key
// large_segment_size_mb was set, so its default counts as not set.
size_t large_segment_size() {
  const size_t key = config::large_segment_size();
  return key == default_of_torch ? large_segment : key;
}

constexpr size_t round_up(size_t size, size_t step) {
  return (size + step - 1) / step * step;
}

// Rounds up to one of `divisions` steps, a power of two, between one power of two and the next.
// PyTorch's roundup_power2_next_division does the same.
constexpr size_t round_to_division(size_t size, size_t divisions) {
  if (std::has_single_bit(size)) return size;
  return round_up(size, std::max<size_t>(1, std::bit_floor(size) / divisions));
}

// The smallest number of divisions that changes anything. It lets small requests skip the key.
constexpr size_t fewest_divisions = 2;

}  // namespace

size_t rounded_size(size_t bytes, size_t granule) {
  if (bytes > granule * fewest_divisions) {
    const size_t divisions = config::roundup_power2_divisions(bytes);
    if (divisions > 1 && bytes > granule * divisions) bytes = round_to_division(bytes, divisions);
  }
  return (bytes + granule - 1) & ~(granule - 1);
}

size_t segment_size(size_t size, size_t most) {
  const size_t shared = is_small_size(size) ? small_segment : large_segment_size();
  const bool is_alone = !is_small_size(size) && size >= shared / sharers;
  return is_alone ? size : std::max(size, std::min(shared, most));
}

bool should_split(size_t available, size_t size, size_t granule) {
  return available - size >= granule && size < config::max_split_size();
}

bool may_serve(size_t available, size_t size) {
  const size_t limit = config::max_split_size();
  if (available < limit) return true;
  return size >= limit && available - size <= config::max_non_split_rounding_size();
}

size_t max_split_size() {
  return config::max_split_size();
}

}  // namespace outback::core
