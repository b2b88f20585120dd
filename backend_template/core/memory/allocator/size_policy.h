// The allocator's sizes: the block size for a request, the size of a new segment, and when to split
// a block. All functions depend only on their arguments and on the keys of PYTORCH_ALLOC_CONF,
// which torch's AcceleratorAllocatorConfig keeps. All sizes are in bytes.
#pragma once

#include <cstddef>
#include <limits>

namespace outback::core {

inline constexpr size_t mebibyte = size_t{1} << 20;

/// Requests up to this size share small segments, so that they do not break up the large ones.
/// torch.cuda's allocator and its statistics have the same limit (kSmallSize).
inline constexpr size_t small_limit = mebibyte;

constexpr bool is_small_size(size_t size) {
  return size <= small_limit;
}

/// Returns the block size for a request of `bytes`, at least 1. The result is a multiple of
/// `granule`, which is a power of two of at least 64. The key roundup_power2_divisions may make it
/// larger.
size_t rounded_size(size_t bytes, size_t granule);

/// Returns the size of the segment to allocate when no free block has `size` bytes: at least
/// `size`, and at most the larger of `size` and `most`.
size_t segment_size(size_t size, size_t most = std::numeric_limits<size_t>::max());

/// Returns true if a block of `available` bytes should be split to serve a request of `size`: the
/// rest is at least `granule` bytes, and `size` is below the key max_split_size_mb.
bool should_split(size_t available, size_t size, size_t granule);

/// Returns true if a request of `size` may take a block of `available` bytes. Blocks of at least
/// max_split_size_mb are never split, so that large requests find them again. Only a request of at
/// least max_split_size_mb takes such a block, and only if it leaves at most
/// max_non_split_rounding_mb unused.
bool may_serve(size_t available, size_t size);

/// Returns the key max_split_size_mb in bytes. Without the key, returns a number larger than any
/// block.
size_t max_split_size();

}  // namespace outback::core
