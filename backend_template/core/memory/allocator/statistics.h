// The allocator's statistics, as torch's DeviceStats, with torch.cuda's meaning of every number.
// torch.<name>.memory_stats() shows them. Counts of bytes and of blocks exist three times: for all
// segments, for small ones, and for large ones.
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
  /// Count a new segment of a pool, and the removal of one. From torch 2.13 on, private pools have
  /// their own statistic. Adopted memory counts as a segment of the common pool, {0, 0}.
  void add_segment(c10::MempoolId_t pool, size_t size, bool small);
  void remove_segment(c10::MempoolId_t pool, size_t size, bool small);

  /// Counts that a tensor took a block of `size` bytes for a request of `requested`.
  void allocate(size_t size, size_t requested, bool small);
  /// Counts that the tensor gave the block up. The block stays active, since streams may still use
  /// it.
  void give_up(size_t size, size_t requested, bool small);
  /// Counts that no stream uses the block any more.
  void deactivate(size_t size, bool small);

  /// Adds to the count of free blocks in segments that are partly in use, which therefore cannot go
  /// back to the runtime. Both numbers may be negative.
  void change_inactive_split(int64_t blocks, int64_t bytes, bool small);

  /// Returns the counts with torch's meaning.
  device_stats counts() const;
  /// Returns the raw counts, for `add_to` and `remove_from`, and to read the memory in use.
  device_stats& kept() noexcept { return counts_; }
  const device_stats& kept() const noexcept { return counts_; }
  /// Change a raw statistic. Its `freed` is the amount in use at the last reset; `counts` computes
  /// the amount freed since then. So `remove_from` need not write `freed`.
  static void add_to(c10::CachingAllocator::Stat& kept, size_t amount) noexcept {
    kept.current += static_cast<int64_t>(amount);
    kept.allocated += static_cast<int64_t>(amount);
    kept.peak = std::max(kept.peak, kept.current);
  }
  static void remove_from(c10::CachingAllocator::Stat& kept, size_t amount) noexcept {
    kept.current -= static_cast<int64_t>(amount);
  }

  /// Sets the total amounts allocated and freed, and the numbers of events, to 0. Keeps the amounts
  /// in use, and the peaks.
  void reset_accumulated();
  /// Sets the peaks to the present values.
  void reset_peak();

 private:
  device_stats counts_;
};

}  // namespace outback::core
