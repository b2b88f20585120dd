// What the allocator counts, in torch's DeviceStats, with torch.cuda's meaning of every number.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <cstdint>

#include "backend_template/core/torch_version.h"

namespace outback::core {

using device_stats = c10::CachingDeviceAllocator::DeviceStats;

/// Not thread-safe. `small`: the segment belongs to the pool of small ones.
class statistics {
 public:
  void add_segment(size_t size, bool small, c10::MempoolId_t pool);
  void remove_segment(size_t size, bool small, c10::MempoolId_t pool);
  /// The runtime was asked for memory, or given some back.
  void count_device_alloc() { ++counts_.num_device_alloc; }
  void count_device_free() { ++counts_.num_device_free; }

  /// A tensor took a block of `size` bytes, for `requested`.
  void allocate(size_t size, size_t requested, bool small);
  /// The tensor gave it up: streams may still use it.
  void give_up(size_t size, size_t requested, bool small);
  /// No stream uses it any more.
  void deactivate(size_t size, bool small);

  /// Free parts of segments that are in use, which therefore cannot go back to the runtime.
  void change_inactive_split(int64_t blocks, int64_t bytes, bool small);

  void count_retry() { ++counts_.num_alloc_retries; }
  void count_out_of_memory() { ++counts_.num_ooms; }
  void count_synchronization() { ++counts_.num_sync_all_streams; }
  void add_oversize_segment() { counts_.oversize_segments.increase(1); }
  void remove_oversize_segment() { counts_.oversize_segments.decrease(1); }
  void add_oversize_allocation() { counts_.oversize_allocations.increase(1); }
  void remove_oversize_allocation() { counts_.oversize_allocations.decrease(1); }

  const device_stats& counts() const noexcept { return counts_; }
  void reset_accumulated();
  void reset_peak();

 private:
  device_stats counts_;
};

}  // namespace outback::core
