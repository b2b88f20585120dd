// The bookkeeping of one device's memory: what is free, what is in use, what waits for a stream,
// and the statistics and the history. Start here to understand the allocator.
//
//   device_cache          one for each device (caches.h)
//     stream_cache        one for each stream: its segments, and its part of the statistics
//       arena             its free blocks of one pool, small or large
//     pending_uses        blocks that were freed while streams still use them
//     memory_pools        the MemPools
//     device_statistics   the peaks, and what streams do not count
//     history             the entries that a snapshot shows
//
// It decides nothing and calls no slot: sizes are size_policy.h's business, what to do when memory
// runs out is device_allocator.cpp's, and giving memory back is freeing.h's. All members are
// thread-safe, and hold their locks for no longer than it takes to relink a few blocks.
//
// Locks. There is the device's mutex, and one mutex for each stream_cache. They are taken in this
// order: first the device's, then the streams' by their place in `streams_`. A thread that holds
// one stream's mutex takes a second one only if it holds the device's.
//   a stream's    allocating and freeing cached memory. It writes nothing that other streams read.
//   the device's  pools, peaks and history. While the history is recorded, everybody takes it.
//   all           statements about the whole device, such as statistics and snapshots
// pending_uses has a mutex of its own; nobody takes another lock while holding that one.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend_template/core/memory/allocator/block.h"
#include "backend_template/core/memory/allocator/history.h"
#include "backend_template/core/memory/allocator/memory_in_transit.h"
#include "backend_template/core/memory/allocator/pending_uses.h"
#include "backend_template/core/memory/allocator/statistics.h"
#include "backend_template/core/memory/allocator/stream_cache.h"

namespace outback::core {

using segment_info = c10::CachingDeviceAllocator::SegmentInfo;

class device_cache {
 public:
  using request = block_request;

  explicit device_cache(c10::DeviceIndex device);
  device_cache(const device_cache&) = delete;
  device_cache& operator=(const device_cache&) = delete;
  /// Deletes the blocks. Their memory stays allocated in the runtime.
  ~device_cache();

  c10::DeviceIndex device() const noexcept { return shared_.device; }

  /// Sets the number of bytes of which sizes are multiples: a power of two, at least 64. Call it
  /// before the first request.
  void set_granule(size_t granule) noexcept {
    shared_.granule.store(granule, std::memory_order_relaxed);
  }
  size_t granule() const noexcept { return shared_.granule.load(std::memory_order_relaxed); }

  // ---- Allocating. The block that these return is the caller's, and counted as allocated.

  /// Returns a free block that fits, or null if there is none.
  block* take(const request& wanted);
  /// Does the same in the pools with `use_on_oom`, which serve everybody before memory runs out.
  block* take_from_reserves(const request& wanted);
  /// Makes a segment of `data`, `size` bytes that the runtime has just allocated, and serves the
  /// request from it.
  block* add_segment(void* data, size_t size, const request& wanted);
  /// Makes a block for memory that the CPU's allocator made. The block owns `foreign`.
  block* add_adopted(c10::DataPtr&& foreign, size_t size, c10::StreamId stream,
                     std::shared_ptr<c10::GatheredContext> context);

  /// Notes that an allocated block is used on another stream than its own (record_stream).
  void record(block* used, c10::StreamId stream);

  // ---- Freeing. `context` is the stack of whoever frees, or null.

  /// Puts back a block that neither an owner nor a stream uses any more. Returns false for a block
  /// that is adopted or bypasses the cache: then the caller gives the memory back and calls
  /// `forget`.
  [[nodiscard]] bool put_back(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept;
  /// Counts a block as freed by its owner while streams still use it. `put_back` follows later.
  void give_up(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept;
  /// Returns the queues in which such blocks wait for their streams.
  pending_uses& pending() noexcept { return pending_; }

  // ---- Giving memory back to the runtime.

  /// Takes all segments of a pool that are wholly free out of the cache, and returns them as a list
  /// linked by `next`. {0, 0} means the common pool and the pools that nobody uses any more. The
  /// caller gives each segment's memory back and calls `forget`, or calls `keep_cached`.
  block* take_cached(c10::MempoolId_t pool) noexcept;
  /// Does the same with the common pool's segments that have been free for longest, until they have
  /// `bytes` together or there are no more.
  block* take_oldest(size_t bytes) noexcept;
  /// Undoes `take_cached` or `take_oldest`.
  void keep_cached(block* list) noexcept;
  /// Removes a segment, or adopted memory, whose memory has gone back. The block is reused.
  void forget(block* gone) noexcept;
  /// Counts the threads that hold memory on its way back. Whoever takes memory out of the cache or
  /// of `pending` enters it first, so that another thread does not run out of memory meanwhile.
  memory_in_transit& in_transit() noexcept { return in_transit_; }

  // ---- Sizes, in bytes. The first three may be a moment old.

  /// Returns what the runtime has allocated for this cache.
  size_t reserved() const noexcept { return reserved_.load(std::memory_order_relaxed); }
  /// Returns the adopted memory.
  size_t adopted() const noexcept { return adopted_.load(std::memory_order_relaxed); }
  /// Returns what tensors hold, summed over the streams one after another.
  size_t allocated() const noexcept;
  /// Returns the size of the largest free block.
  size_t largest_free();

  // ---- Pools. A pool that has neither users nor segments is removed.

  /// Adds a user to a pool, which is made if there is none.
  void begin_pool_use(c10::MempoolId_t pool);
  /// Sets what memory_pool says of a pool, which is made if there is none.
  void set_pool_options(c10::MempoolId_t pool, bool use_on_oom, bool no_split);
  /// Removes a user. Does nothing for a pool that has none.
  void end_pool_use(c10::MempoolId_t pool) noexcept;
  /// Returns how many users a pool has.
  int pool_uses(c10::MempoolId_t pool);

  // ---- Statistics

  /// Counts an allocation that failed until the cache was emptied (num_alloc_retries).
  void count_retry();
  /// Counts a wait for everything that is pending (num_sync_all_streams).
  void count_synchronization();
  /// Counts an out-of-memory error and enters it into the history. `free` is what the device has
  /// free, in bytes.
  void count_out_of_memory(size_t requested, size_t free, c10::StreamId stream,
                           std::shared_ptr<c10::GatheredContext> context);
  device_stats stats();
  void reset_accumulated();
  void reset_peak();

  // ---- History

  void configure_history(const history_settings& settings);
  void set_metadata(const std::string& text);
  /// Returns the segments and their blocks, ordered by address: of one pool, or of all for {0, 0}.
  std::vector<segment_info> segments(c10::MempoolId_t pool);
  /// Returns the history, oldest entry first. Adds a SNAPSHOT entry with `context` at the end, as
  /// torch.cuda does, if the history is recorded.
  std::vector<trace_entry> trace(std::shared_ptr<c10::GatheredContext> context);

 private:
  class stream_lock;
  class lock_of_all;

  // Stream ids that differ by a multiple of this share a stream_cache. It is 32 because a thread
  // may hold all the mutexes at once, and the thread sanitizer follows at most 64 locks of a
  // thread.
  static constexpr size_t most_streams = 32;

  stream_cache& stream_of(c10::StreamId stream);
  stream_cache& make_stream(c10::StreamId stream);
  void settle_peaks() noexcept;
  void drop_pool_if_unused(memory_pool& pool) noexcept;
  template <class F>
  void for_each_stream(F visit) const;

  // Read by everybody, seldom written. What others write often is on cache lines of its own.
  device_shared shared_;
  std::array<std::atomic<stream_cache*>, most_streams> streams_{};  // owned; made once, then stay
  memory_in_transit in_transit_;

  alignas(cache_line) pending_uses pending_;

  alignas(cache_line) std::mutex mutex_;
  device_statistics stats_;
  device_statistics::shares shares_;  // the parts of `streams_`

  alignas(cache_line) std::atomic<size_t> reserved_{0};
  std::atomic<size_t> adopted_{0};
};

}  // namespace outback::core
