// What the allocator counts, in torch's DeviceStats, with torch.cuda's meaning of every number.
// Each stream counts for itself; peaks are the device's all the same (peak_escrow.h).
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
// What an allocation adds to comes first, side by side.
enum kind : size_t {
  allocation,
  active,
  allocated_bytes,
  active_bytes,
  requested_bytes,
  inactive_split,
  inactive_split_bytes,
  segment,
  reserved_bytes,
  kinds
};
inline constexpr size_t of_an_allocation = requested_bytes + 1;
/// Of torch's StatType: all, those of small segments, those of large ones.
inline constexpr size_t rows = 3;
inline constexpr size_t oversize_allocations = rows * kinds;
inline constexpr size_t oversize_segments = oversize_allocations + 1;
inline constexpr size_t count = oversize_segments + 1;

constexpr size_t index(size_t row, kind of) {
  return row * kinds + of;
}
}  // namespace counters

/// One stream's part. Not thread-safe. `small`: the segment belongs to the pool of small ones.
class stream_statistics {
 public:
  using share = escrow_share<counters::count>;

  void add_segment(size_t size, bool small) noexcept;
  void remove_segment(size_t size, bool small) noexcept;

  /// A tensor took a block of `size` bytes, for `requested`.
  void allocate(size_t size, size_t requested, bool small) noexcept;
  /// The tensor gave it up: streams may still use it.
  void give_up(size_t size, size_t requested, bool small) noexcept;
  /// No stream uses it any more.
  void deactivate(size_t size, bool small) noexcept;

  /// Free parts of segments that are in use, which therefore cannot go back to the runtime.
  void change_inactive_split(int64_t blocks, int64_t bytes, bool small) noexcept;

  void add_oversize_segment() noexcept { share_.add(counters::oversize_segments, 1); }
  void remove_oversize_segment() noexcept { share_.remove(counters::oversize_segments, 1); }
  void add_oversize_allocation() noexcept { share_.add(counters::oversize_allocations, 1); }
  void remove_oversize_allocation() noexcept { share_.remove(counters::oversize_allocations, 1); }

  share& counted() noexcept { return share_; }
  bool is_overdrawn() noexcept { return share_.is_overdrawn(); }

 private:
  share share_;
};

/// The device's peaks, and what is not counted by streams. Not thread-safe; where `all` is asked
/// for, it is the part of every stream, and nobody changes one meanwhile.
class device_statistics {
 public:
  using share = stream_statistics::share;
  using shares = std::vector<share*>;

  /// The runtime was asked for memory, or given some back.
  void count_device_alloc() noexcept { ++apart_.num_device_alloc; }
  void count_device_free() noexcept { ++apart_.num_device_free; }
  /// What private pools hold. {0, 0}: nothing to count here.
  void add_segment_of(c10::MempoolId_t pool, size_t size, bool small);
  void remove_segment_of(c10::MempoolId_t pool, size_t size, bool small);

  void count_retry() noexcept { ++apart_.num_alloc_retries; }
  void count_out_of_memory() noexcept { ++apart_.num_ooms; }
  void count_synchronization() noexcept { ++apart_.num_sync_all_streams; }

  /// Covers what a stream has counted beyond its credit, which its peaks do not know of yet.
  void settle(const shares& all, share& overdrawn) noexcept { peaks_.settle(all, overdrawn); }

  /// Of settled parts.
  device_stats counts(const shares& all) const;
  void reset_accumulated(const shares& all);
  void reset_peak(const shares& all);

 private:
  peak_escrow<counters::count> peaks_;
  device_stats apart_;  // what streams count is 0 here
};

}  // namespace outback::core
