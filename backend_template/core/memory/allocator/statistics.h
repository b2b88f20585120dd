// What the allocator counts, as torch's DeviceStats, with torch.cuda's meaning of every number.
// torch.<name>.memory_stats() shows it. Counts of bytes and of blocks are kept three times: for
// all, for small segments, and for large segments.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace outback::core {

using device_stats = c10::CachingDeviceAllocator::DeviceStats;

/// The counts of one device. Not thread-safe. Sizes are in bytes; `small` says that the block
/// belongs to a segment for small requests.
class device_statistics {
 public:
  /// Count a segment of a pool, and its end. From torch 2.13 on, private pools have a statistic of
  /// their own. Adopted memory counts as a segment of the common pool, {0, 0}.
  void add_segment(c10::MempoolId_t pool, size_t size, bool small);
  void remove_segment(c10::MempoolId_t pool, size_t size, bool small);

  /// Counts that a tensor took a block of `size` bytes for a request of `requested`.
  void allocate(size_t size, size_t requested, bool small);
  /// Counts that the tensor gave the block up. It stays active: streams may still use it.
  void give_up(size_t size, size_t requested, bool small);
  /// Counts that no stream uses the block any more.
  void deactivate(size_t size, bool small);

  /// Adds to the count of free blocks in segments that are partly in use, which therefore cannot go
  /// back to the runtime. Both numbers may be negative.
  void change_inactive_split(int64_t blocks, int64_t bytes, bool small);

  /// Returns the counts as torch means them.
  device_stats counts() const;
  /// Returns the counts as they are kept, to add to and to read what is in use: see `remove_from`.
  device_stats& kept() noexcept { return counts_; }
  const device_stats& kept() const noexcept { return counts_; }
  /// Change a statistic that is kept here. Its `freed` is what was in use at the last reset, and
  /// `counts` makes of it what was freed since: so each change writes what it must and no more.
  static void add_to(c10::CachingAllocator::Stat& kept, size_t amount) noexcept {
    kept.current += static_cast<int64_t>(amount);
    kept.allocated += static_cast<int64_t>(amount);
    kept.peak = std::max(kept.peak, kept.current);
  }
  static void remove_from(c10::CachingAllocator::Stat& kept, size_t amount) noexcept {
    kept.current -= static_cast<int64_t>(amount);
  }

  /// Sets the sums of what was ever allocated and freed to 0, and the numbers of events. What is in
  /// use, and the peaks, stay.
  void reset_accumulated();
  /// Sets the peaks to the present values.
  void reset_peak();

 private:
  device_stats counts_;
};

}  // namespace outback::core
