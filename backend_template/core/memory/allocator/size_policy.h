// Which sizes the allocator deals in: how much a request gets, how large a segment it asks of the
// runtime, and when a block is split. Pure functions over torch's PYTORCH_ALLOC_CONF.
#pragma once

#include <cstddef>

namespace outback::core {

inline constexpr size_t mebibyte = size_t{1} << 20;

/// Requests up to this size share small segments, so that they do not break up the large ones.
/// torch.cuda's statistics draw the line in the same place.
inline constexpr size_t small_limit = mebibyte;

constexpr bool is_small_size(size_t size) {
  return size <= small_limit;
}

/// What a request of `bytes` takes, at least 1: a multiple of `granule`, or of what the key
/// roundup_power2_divisions says. `granule` is a power of two, at least 64.
size_t rounded_size(size_t bytes, size_t granule);

/// What to ask of the runtime when no free block holds `size` bytes: at least as much.
size_t segment_size(size_t size);

/// Whether the rest of a block of `available` bytes is worth keeping apart from the first `size`.
bool should_split(size_t available, size_t size, size_t granule);

/// Whether a request of `size` may take a block of `available` bytes: above the key
/// max_split_size_mb blocks are kept for requests of about their size.
bool may_serve(size_t available, size_t size);

/// The largest block that is split, in bytes.
size_t max_split_size();

}  // namespace outback::core
