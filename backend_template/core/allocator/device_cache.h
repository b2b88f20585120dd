// Bookkeeping of one device's memory: what is cached, what waits for a stream, and the statistics.
// Decides nothing and calls no runtime slot; the policy is device_allocator.cpp's. Every member is
// thread-safe.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/flat_hash_map.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "backend_template/core/allocator/block.h"
#include "backend_template/core/allocator/size_classes.h"

namespace outback::core {

class device_cache {
 public:
  explicit device_cache(c10::DeviceIndex device);

  /// A cached block of that class for that stream, counted as allocated; null when there is none.
  block* take(int size_class, c10::StreamId stream, size_t requested);

  /// A block for memory that the runtime has just allocated, or that is adopted from `foreign`.
  /// Counted as allocated. `size_class` -1: not to be cached.
  block* add(void* data, size_t size, size_t requested, int size_class, c10::StreamId stream);
  block* add_adopted(c10::DataPtr&& foreign, size_t size, c10::StreamId stream);

  /// Notes that the block is used on a stream besides its own.
  void record(block* used, c10::StreamId stream);

  /// The owner is done with the block. False for one that is adopted or of an exact size: the
  /// caller releases its memory, then calls `forget`.
  [[nodiscard]] bool put_back(block* freed) noexcept;
  void put_pending(pending_block&& waiting);
  bool has_pending() const noexcept { return pending_count_.load(std::memory_order_relaxed) != 0; }
  std::vector<pending_block> take_pending();

  /// All cached blocks as a list, no longer cached. The caller frees their memory and forgets them.
  block* take_all_cached() noexcept;
  /// Counts the memory of a block out and recycles the record. `was_cached`: it had been put back.
  void forget(block* gone, bool was_cached) noexcept;

  size_t reserved() const noexcept { return reserved_.load(std::memory_order_relaxed); }
  size_t adopted() const noexcept { return adopted_.load(std::memory_order_relaxed); }
  size_t allocated() const noexcept { return allocated_.load(std::memory_order_relaxed); }

  void count_retry();
  void count_out_of_memory();
  c10::CachingDeviceAllocator::DeviceStats stats();
  void reset_accumulated();
  void reset_peak();

 private:
  using free_lists = std::array<block*, size_class_count>;

  free_lists& lists_of(c10::StreamId stream);
  void count_allocated(const block& b);
  void count_freed(const block& b) noexcept;
  block* new_block();
  void insert(block* made);
  void recycle(block* gone) noexcept;

  const c10::DeviceIndex device_;
  std::mutex mutex_;
  free_lists default_stream_lists_{};
  ska::flat_hash_map<c10::StreamId, std::unique_ptr<free_lists>> other_lists_;
  block* spare_ = nullptr;
  std::vector<pending_block> pending_;
  std::atomic<size_t> pending_count_{0};
  std::atomic<size_t> reserved_{0};
  std::atomic<size_t> adopted_{0};
  std::atomic<size_t> allocated_{0};
  c10::CachingDeviceAllocator::DeviceStats stats_;
};

}  // namespace outback::core
