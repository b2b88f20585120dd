// The sizes in which the allocator deals: how much a request gets, how large a segment it asks of
// the runtime, and when it splits a block. All functions are pure but for the keys of
// PYTORCH_ALLOC_CONF, which torch's AcceleratorAllocatorConfig keeps. All sizes are in bytes.
#pragma once

#include <cstddef>
#include <limits>

namespace outback::core {

inline constexpr size_t mebibyte = size_t{1} << 20;

/// Requests up to this size share small segments, so that they do not break up the large ones.
/// torch.cuda's allocator and its statistics draw the line in the same place (kSmallSize).
inline constexpr size_t small_limit = mebibyte;

constexpr bool is_small_size(size_t size) {
  return size <= small_limit;
}

/// Returns the size of the block for a request of `bytes`, at least 1: a multiple of `granule`, a
/// power of two from 64 on. The key roundup_power2_divisions may make it larger.
size_t rounded_size(size_t bytes, size_t granule);

/// Returns what to ask of the runtime when no free block holds `size` bytes: `size` or more, and no
/// more than `most` unless `size` is.
size_t segment_size(size_t size, size_t most = std::numeric_limits<size_t>::max());

/// Returns true if a block of `available` bytes should be split to serve a request of `size`: what
/// is left is at least a `granule`, and `size` is below the key max_split_size_mb.
bool should_split(size_t available, size_t size, size_t granule);

/// Returns true if a request of `size` may take a block of `available` bytes. Blocks from the key
/// max_split_size_mb on are kept whole, so that large requests find them again: only a request of
/// at least that size takes one, and only if it leaves no more than max_non_split_rounding_mb.
bool may_serve(size_t available, size_t size);

/// Returns the key max_split_size_mb in bytes. Without the key it is larger than any block.
size_t max_split_size();

}  // namespace outback::core
