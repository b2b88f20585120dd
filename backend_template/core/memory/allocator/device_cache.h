// Bookkeeping of one device's memory: what is free, what is in use, what waits for a stream, and
// the statistics and history of it. Calls no runtime slot; the policy is size_policy.h's and
// device_allocator.cpp's. Every member is thread-safe and holds its locks for no longer than it
// takes to relink a few blocks.
//
// The locks are the device's mutex and one for the cache of every stream. They are taken in this
// order: the device's, then those of the streams by their place in `streams_`. Nobody waits for a
// second stream's without the device's. To allocate and to free cached memory takes the stream's
// alone, and writes nothing that other streams read. The device's guards the pools, the peaks, and
// the history: while that is recorded, everybody takes it first. What is said of the whole device
// is said with all of them. What is pending has a lock of its own, under which nobody takes
// another.
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
  ~device_cache();

  c10::DeviceIndex device() const noexcept { return shared_.device; }

  /// Sizes are multiples of this. A power of two, at least 64; set before the first request.
  void set_granule(size_t granule) noexcept {
    shared_.granule.store(granule, std::memory_order_relaxed);
  }
  size_t granule() const noexcept { return shared_.granule.load(std::memory_order_relaxed); }

  /// A free block, counted as allocated; null when there is none that fits.
  block* take(const request& wanted);
  /// The same out of the pools that may serve anybody before memory runs out.
  block* take_from_reserves(const request& wanted);
  /// Makes `data`, of `size` bytes and just allocated by the runtime, a segment and serves the
  /// request from it.
  block* add_segment(void* data, size_t size, const request& wanted);
  /// A block for memory of the CPU's allocator.
  block* add_adopted(c10::DataPtr&& foreign, size_t size, c10::StreamId stream,
                     std::shared_ptr<c10::GatheredContext> context);

  /// Notes that the block is used on a stream besides its own.
  void record(block* used, c10::StreamId stream);

  /// The owner is done with the block, and so are all streams. False for one that is adopted or
  /// bypasses the cache: the caller gives the memory back, then calls `forget`. `context` is of the
  /// one that frees.
  [[nodiscard]] bool put_back(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept;
  /// The owner is done with the block; streams are not.
  void give_up(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept;
  /// What was given up, until the streams are done with it too.
  pending_uses& pending() noexcept { return pending_; }

  /// All segments of a pool that nobody uses, as a list by `next`, no longer cached. The caller
  /// gives their memory back and forgets them. {0, 0}: of everybody's pool and of those that
  /// have no MemPool any more.
  block* take_cached(c10::MempoolId_t pool) noexcept;
  /// The same for those of everybody's pool that have been free for longest, until they are `bytes`
  /// together.
  block* take_oldest(size_t bytes) noexcept;
  /// Undoes `take_cached` or `take_oldest`: the segments are cached again.
  void keep_cached(block* list) noexcept;
  /// Counts a segment, or adopted memory, out.
  void forget(block* gone) noexcept;
  /// Memory on its way back, into the cache or to the runtime: whoever takes some out says so
  /// first.
  memory_in_transit& in_transit() noexcept { return in_transit_; }

  size_t reserved() const noexcept { return reserved_.load(std::memory_order_relaxed); }
  size_t adopted() const noexcept { return adopted_.load(std::memory_order_relaxed); }
  /// Bytes of tensors, stream by stream.
  size_t allocated() const noexcept;
  /// Bytes of the largest free block.
  size_t largest_free();

  void begin_pool_use(c10::MempoolId_t pool);
  void set_pool_options(c10::MempoolId_t pool, bool use_on_oom, bool no_split);
  void end_pool_use(c10::MempoolId_t pool) noexcept;
  int pool_uses(c10::MempoolId_t pool);

  void count_retry();
  void count_synchronization();
  /// Counts an error of that many bytes and puts it into the history. `free`: the device's bytes.
  void count_out_of_memory(size_t requested, size_t free, c10::StreamId stream,
                           std::shared_ptr<c10::GatheredContext> context);
  device_stats stats();
  void reset_accumulated();
  void reset_peak();

  void configure_history(const history_settings& settings);
  void set_metadata(const std::string& text);
  /// What there is now, by address; of one pool, or of all for {0, 0}.
  std::vector<segment_info> segments(c10::MempoolId_t pool);
  /// The history, oldest first, ended by an entry that says where this was asked.
  std::vector<trace_entry> trace(std::shared_ptr<c10::GatheredContext> context);

 private:
  class stream_lock;
  class lock_of_all;

  // Streams that have the same number but for a multiple of this share a cache. The thread
  // sanitizer follows at most 64 locks of a thread.
  static constexpr size_t most_streams = 32;

  stream_cache& stream_of(c10::StreamId stream);
  stream_cache& make_stream(c10::StreamId stream);
  void settle_peaks() noexcept;
  void drop_pool_if_unused(memory_pool& pool) noexcept;
  template <class F>
  void for_each_stream(F visit) const;

  // Read by everybody, seldom written.
  device_shared shared_;
  std::array<std::atomic<stream_cache*>, most_streams> streams_{};  // ours; none goes
  memory_in_transit in_transit_;

  alignas(cache_line) pending_uses pending_;

  alignas(cache_line) std::mutex mutex_;
  device_statistics stats_;
  device_statistics::shares shares_;  // of `streams_`

  alignas(cache_line) std::atomic<size_t> reserved_{0};
  std::atomic<size_t> adopted_{0};
};

}  // namespace outback::core
