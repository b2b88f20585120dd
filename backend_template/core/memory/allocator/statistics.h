// What the allocator counts, as torch's DeviceStats, with torch.cuda's meaning of every number.
// Each stream counts for itself; the peaks are those of the device all the same (peak_escrow.h).
//
// torch.<name>.memory_stats() shows the result. Counts of bytes and of blocks are kept three times:
// for all, for small segments, and for large segments.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend_template/core/memory/allocator/peak_escrow.h"
#include "backend_template/core/runtime/torch_version.h"

namespace outback::core {

using device_stats = c10::CachingDeviceAllocator::DeviceStats;

namespace counters {
/// The counters that streams have, with the names of DeviceStats. Those that every allocation adds
/// to come first and side by side, so that one pass over them is enough.
enum kind : size_t {
  // Blocks that tensors own.
  allocation,
  // Those, and the blocks that were freed while streams still use them.
  active,
  // The bytes of both.
  allocated_bytes,
  active_bytes,
  // The bytes that were asked for, before sizes were rounded up; of blocks that tensors own.
  requested_bytes,
  // Free blocks of segments that are partly in use, and their bytes.
  inactive_split,
  inactive_split_bytes,
  // Segments, adopted memory included, and their bytes.
  segment,
  reserved_bytes,
  kinds
};
/// How many of them an allocation adds to.
inline constexpr size_t of_an_allocation = requested_bytes + 1;
/// How often each is kept: torch's StatType, which is all, small and large.
inline constexpr size_t rows = 3;
/// Two counters that are kept once.
inline constexpr size_t oversize_allocations = rows * kinds;
inline constexpr size_t oversize_segments = oversize_allocations + 1;
inline constexpr size_t count = oversize_segments + 1;

/// Returns the place of a counter. `row` is a StatType.
constexpr size_t index(size_t row, kind of) {
  return row * kinds + of;
}
}  // namespace counters

/// One stream's part. The stream's mutex guards it. Sizes are in bytes; `small` says that the block
/// belongs to a segment for small requests.
class stream_statistics {
 public:
  using share = escrow_share<counters::count>;

  void add_segment(size_t size, bool small) noexcept;
  void remove_segment(size_t size, bool small) noexcept;

  /// Counts that a tensor took a block of `size` bytes for a request of `requested`.
  void allocate(size_t size, size_t requested, bool small) noexcept;
  /// Counts that the tensor gave the block up. It stays active: streams may still use it.
  void give_up(size_t size, size_t requested, bool small) noexcept;
  /// Counts that no stream uses the block any more.
  void deactivate(size_t size, bool small) noexcept;

  /// Adds to the count of free blocks in segments that are partly in use, which therefore cannot go
  /// back to the runtime. Both numbers may be negative.
  void change_inactive_split(int64_t blocks, int64_t bytes, bool small) noexcept;

  /// Count blocks and segments from max_split_size() on.
  void add_oversize_segment() noexcept { share_.add(counters::oversize_segments, 1); }
  void remove_oversize_segment() noexcept { share_.remove(counters::oversize_segments, 1); }
  void add_oversize_allocation() noexcept { share_.add(counters::oversize_allocations, 1); }
  void remove_oversize_allocation() noexcept { share_.remove(counters::oversize_allocations, 1); }

  /// Returns the counters, for the device's sums.
  share& counted() noexcept { return share_; }
  /// Returns true if the device's peaks have to be settled (peak_escrow.h).
  bool is_overdrawn() noexcept { return share_.is_overdrawn(); }

 private:
  share share_;
};

/// The device's peaks, and what no stream counts. The device's mutex guards it. For members that
/// take `all`, the parts of all streams, the caller holds the streams' mutexes too.
class device_statistics {
 public:
  using share = stream_statistics::share;
  using shares = std::vector<share*>;

  /// Count that the runtime allocated memory, or got some back.
  void count_device_alloc() noexcept { ++apart_.num_device_alloc; }
  void count_device_free() noexcept { ++apart_.num_device_free; }
  /// Count what private pools hold, from torch 2.13 on, which has a statistic for it. Do nothing
  /// for the common pool, {0, 0}.
  void add_segment_of(c10::MempoolId_t pool, size_t size, bool small);
  void remove_segment_of(c10::MempoolId_t pool, size_t size, bool small);

  /// See device_cache.h.
  void count_retry() noexcept { ++apart_.num_alloc_retries; }
  void count_out_of_memory() noexcept { ++apart_.num_ooms; }
  void count_synchronization() noexcept { ++apart_.num_sync_all_streams; }

  /// Brings the peaks up to date with what `overdrawn`, one of `all`, has counted.
  void settle(const shares& all, share& overdrawn) noexcept { peaks_.settle(all, overdrawn); }

  /// Returns the sums. No part may be overdrawn.
  device_stats counts(const shares& all) const;
  /// Sets the sums of what was ever allocated and freed to 0, and the numbers of events.
  void reset_accumulated(const shares& all);
  /// Sets the peaks to the present values.
  void reset_peak(const shares& all);

 private:
  peak_escrow<counters::count> peaks_;
  device_stats apart_;  // what streams count is 0 here
};

}  // namespace outback::core
