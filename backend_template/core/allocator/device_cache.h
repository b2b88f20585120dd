// Bookkeeping of one device's memory: what is free, what is in use, what waits for a stream, and
// the statistics and history of it. Calls no runtime slot; the policy is size_policy.h's and
// device_allocator.cpp's. Every member is thread-safe and holds the mutex for no longer than it
// takes to relink a few blocks.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend_template/core/allocator/arena.h"
#include "backend_template/core/allocator/block.h"
#include "backend_template/core/allocator/history.h"
#include "backend_template/core/allocator/statistics.h"

namespace outback::core {

using segment_info = c10::CachingDeviceAllocator::SegmentInfo;

class device_cache {
 public:
  struct request {
    size_t requested;  // bytes as asked for
    size_t size;       // what it takes, by the size policy
    c10::StreamId stream;
    c10::MempoolId_t pool{0, 0};
    bool bypasses_cache = false;  // a segment of its own, which goes back when it is freed
    std::shared_ptr<c10::GatheredContext> context;
  };

  explicit device_cache(c10::DeviceIndex device);

  /// Sizes are multiples of this. A power of two, at least 64; set before the first request.
  void set_granule(size_t granule) noexcept { granule_.store(granule, std::memory_order_relaxed); }
  size_t granule() const noexcept { return granule_.load(std::memory_order_relaxed); }

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
  void put_pending(pending_block&& waiting);
  bool has_pending() const noexcept { return pending_count_.load(std::memory_order_relaxed) != 0; }
  std::vector<pending_block> take_pending();

  /// All segments of a pool that nobody uses, as a list by `next`, no longer cached. The caller
  /// gives their memory back and forgets them. {0, 0}: of everybody's pool and of those that
  /// have no MemPool any more.
  block* take_cached(c10::MempoolId_t pool) noexcept;
  /// The same for those of everybody's pool that have been free for longest, until they are `bytes`
  /// together.
  block* take_oldest(size_t bytes) noexcept;
  /// Counts a segment, or adopted memory, out.
  void forget(block* gone) noexcept;

  size_t reserved() const noexcept { return reserved_.load(std::memory_order_relaxed); }
  size_t adopted() const noexcept { return adopted_.load(std::memory_order_relaxed); }
  size_t allocated() const noexcept { return allocated_.load(std::memory_order_relaxed); }
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
  block* hand_out(block* found, const request& wanted);
  block* count_in(block* found, const request& wanted);
  block* new_block();
  void recycle(block* gone) noexcept;
  void link_segment(block* first) noexcept;
  void unlink_segment(block* first) noexcept;
  block* absorb(block* left, block* right) noexcept;
  void cache(block* freed) noexcept;
  void merge(block* freed) noexcept;
  void settle(arena& from) noexcept;
  void settle_all() noexcept;
  void take_out(arena& from, block*& list, block* it) noexcept;
  void drop_pool_if_unused(memory_pool& pool) noexcept;
  void note(trace_entry::Action action, const block& b, size_t size,
            const std::shared_ptr<c10::GatheredContext>& context);
  bool is_small(const block& b) const noexcept;

  const c10::DeviceIndex device_;
  std::atomic<size_t> granule_{smallest_block};
  std::mutex mutex_;
  arenas arenas_;
  block* segments_ = nullptr;
  block* spare_ = nullptr;
  uint64_t freed_count_ = 0;
  std::vector<pending_block> pending_;
  std::atomic<size_t> pending_count_{0};
  // Written with the mutex held.
  std::atomic<size_t> reserved_{0};
  std::atomic<size_t> adopted_{0};
  std::atomic<size_t> allocated_{0};
  statistics stats_;
  history history_;
};

}  // namespace outback::core
