// The bookkeeping of one device's memory: what is free, what is in use, what waits for a stream,
// and the statistics and the history. Start here to understand the allocator.
//
//   device_cache          one for each device (caches.h): a lock, and behind it
//     device_heap         the blocks; the memory pools; statistics.h and history.h
//       arena             the free blocks of one stream and one pool, small or large
//     pending_uses        blocks that were freed while streams still use them
//
// It decides nothing and calls no slot: sizes are size_policy.h's business, what to do when memory
// runs out is device_allocator.cpp's, and giving memory back is freeing.h's. All members are
// thread-safe. Each holds the lock for no longer than it takes to relink a few blocks, or to copy
// what it reports; nobody takes another lock meanwhile.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend_template/core/memory/allocator/device_heap.h"
#include "backend_template/core/memory/allocator/memory_in_transit.h"
#include "backend_template/core/memory/allocator/pending_uses.h"

namespace outback::core {

class device_cache {
  // Call a member of the heap, and of the queues, with the lock held.
  template <auto member, class... Args>
  decltype(auto) locked(Args&&... args) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return (heap_.*member)(std::forward<Args>(args)...);
  }
  template <auto member, class... Args>
  decltype(auto) locked(Args&&... args) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return (heap_.*member)(std::forward<Args>(args)...);
  }
  template <auto member, class... Args>
  decltype(auto) in_queues(Args&&... args) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return (pending_.*member)(std::forward<Args>(args)...);
  }

 public:
  using request = block_request;

  /// `granule` is the number of bytes of which sizes are multiples: a power of two, at least 64.
  explicit device_cache(c10::DeviceIndex device, size_t granule = smallest_block)
      : heap_(device, granule) {}
  device_cache(const device_cache&) = delete;
  device_cache& operator=(const device_cache&) = delete;
  /// Deletes the blocks. Their memory stays allocated in the runtime.
  ~device_cache() = default;

  c10::DeviceIndex device() const noexcept { return heap_.device(); }
  size_t granule() const noexcept { return heap_.granule(); }

  // ---- Allocating. The block that these return is the caller's, and counted as allocated.

  /// Returns a free block that fits, or null if there is none.
  block* take(const request& wanted) { return locked<&device_heap::take>(wanted); }
  /// Does the same in the pools with `use_on_oom`, which serve everybody before memory runs out.
  block* take_from_reserves(const request& wanted) {
    return locked<&device_heap::take_from_reserves>(wanted);
  }
  /// Makes a segment of `data`, `size` bytes that the runtime has just allocated, and serves the
  /// request from it.
  block* add_segment(void* data, size_t size, const request& wanted) {
    return locked<&device_heap::add_segment>(data, size, wanted);
  }
  /// Makes a block for memory that the CPU's allocator made. The block owns `foreign`.
  block* add_adopted(c10::DataPtr&& foreign, size_t size, c10::StreamId stream,
                     std::shared_ptr<c10::GatheredContext> context) {
    return locked<&device_heap::add_adopted>(std::move(foreign), size, stream, std::move(context));
  }

  /// Notes that an allocated block is used on another stream than its own (record_stream).
  void record(block* used, c10::StreamId stream) { locked<&device_heap::record>(used, stream); }

  // ---- Freeing. `context` is the stack of whoever frees, or null.

  /// Puts back a block that neither an owner nor a stream uses any more. Returns false for a block
  /// that is adopted or bypasses the cache: then the caller gives the memory back and calls
  /// `forget`.
  [[nodiscard]] bool put_back(block* freed,
                              const std::shared_ptr<c10::GatheredContext>& context) noexcept {
    return locked<&device_heap::put_back>(freed, context);
  }
  /// Counts a block as freed by its owner while streams still use it. `put_back`, or `wait_for` and
  /// `end`, follow later.
  void give_up(block* freed, const std::shared_ptr<c10::GatheredContext>& context) noexcept {
    locked<&device_heap::give_up>(freed, context);
  }

  // ---- What streams still use: pending_uses.h.

  bool any_pending() const noexcept { return pending_.any(); }
  bool should_ask() noexcept { return pending_.should_ask(); }
  /// Returns the number of the use that became pending last.
  uint64_t newest_pending() { return in_queues<&pending_uses::newest>(); }
  /// Returns a use whose event the caller records: a spare one, or a new one.
  std::unique_ptr<pending_use> make_use();
  /// Lets a block that was given up wait for the ends of the uses.
  void wait_for(block* freed, pending_uses::uses&& uses) {
    in_queues<&pending_uses::add>(freed, std::move(uses));
  }
  pending_use* ask(size_t& queue, uint64_t until) noexcept {
    return in_queues<&pending_uses::ask>(queue, until);
  }
  void leave(pending_use* asked) noexcept { in_queues<&pending_uses::leave>(asked); }
  void asked_in_vain() noexcept { pending_.asked_in_vain(); }
  /// Ends a use, and puts its block back if it was the last. Returns the block if `put_back`
  /// refused it; otherwise returns null.
  block* end(pending_use* over, size_t queue) noexcept;
  /// Destroys the spare uses and their events, which calls a slot.
  void drop_spare_uses() noexcept {
    pending_uses::destroy(in_queues<&pending_uses::take_spares>());
  }

  // ---- Giving memory back to the runtime.

  /// Takes all segments of a pool that are wholly free out of the cache, and returns them as a list
  /// linked by `next`. {0, 0} means the common pool and, with `of_graphs`, the pools that nobody
  /// uses any more. The caller gives each segment's memory back and calls `forget`, or calls
  /// `keep_cached`.
  block* take_cached(c10::MempoolId_t pool, bool of_graphs = true) {
    return locked<&device_heap::take_cached>(pool, of_graphs);
  }
  /// Does the same with the common pool's segments that have been free for longest, until they have
  /// `bytes` together or there are no more.
  block* take_oldest(size_t bytes) { return locked<&device_heap::take_oldest>(bytes); }
  /// Undoes `take_cached` or `take_oldest`.
  void keep_cached(block* list) noexcept { locked<&device_heap::keep_cached>(list); }
  /// Removes a segment, or adopted memory, whose memory has gone back. The block is reused.
  void forget(block* gone) noexcept { locked<&device_heap::forget>(gone); }
  /// Counts the threads that hold memory on its way back. Whoever takes memory out of the cache or
  /// of the queues enters it first, so that another thread does not run out of memory meanwhile.
  memory_in_transit& in_transit() noexcept { return in_transit_; }

  // ---- Sizes, in bytes.

  /// Returns what tensors hold.
  size_t allocated() const { return locked<&device_heap::allocated>(); }
  /// Returns what the runtime has allocated for this cache.
  size_t reserved() const { return locked<&device_heap::reserved>(); }
  /// Returns the adopted memory.
  size_t adopted() const { return locked<&device_heap::adopted>(); }
  /// Returns the size of the largest free block.
  size_t largest_free() { return locked<&device_heap::largest_free>(); }

  // ---- Pools. A pool that has neither users nor segments is removed.

  /// Adds a user to a pool, which is made if there is none.
  void begin_pool_use(c10::MempoolId_t pool) { locked<&device_heap::begin_pool_use>(pool); }
  /// Sets what memory_pool says of a pool, which is made if there is none.
  void set_pool_options(c10::MempoolId_t pool, bool use_on_oom, bool no_split) {
    locked<&device_heap::set_pool_options>(pool, use_on_oom, no_split);
  }
  /// Removes a user. Does nothing for a pool that has none.
  void end_pool_use(c10::MempoolId_t pool) noexcept { locked<&device_heap::end_pool_use>(pool); }
  /// Returns how many users a pool has.
  int pool_uses(c10::MempoolId_t pool) const { return locked<&device_heap::pool_uses>(pool); }

  // ---- Statistics

  /// Counts an allocation that failed until everything pending was waited for and the cache was
  /// emptied (num_alloc_retries and num_sync_all_streams).
  void count_retry() { locked<&device_heap::count_retry>(); }
  /// Counts an out-of-memory error and enters it into the history. `free` is what the device has
  /// free, in bytes.
  void count_out_of_memory(size_t requested, size_t free, c10::StreamId stream,
                           std::shared_ptr<c10::GatheredContext> context) {
    locked<&device_heap::count_out_of_memory>(requested, free, stream, std::move(context));
  }
  device_stats stats() { return locked<&device_heap::stats>(); }
  void reset_accumulated() { locked<&device_heap::reset_accumulated>(); }
  void reset_peak() { locked<&device_heap::reset_peak>(); }

  // ---- History

  void configure_history(const history_settings& settings) {
    locked<&device_heap::configure_history>(settings);
  }
  void set_metadata(const std::string& text) { locked<&device_heap::set_metadata>(text); }
  /// Returns the segments and their blocks, ordered by address: of one pool, or of all for {0, 0}.
  std::vector<segment_info> segments(c10::MempoolId_t pool) {
    return locked<&device_heap::segments>(pool);
  }
  /// Returns the history, oldest entry first. Adds a SNAPSHOT entry with `context` at the end, as
  /// torch.cuda does, if the history is recorded.
  std::vector<trace_entry> trace(std::shared_ptr<c10::GatheredContext> context) {
    return locked<&device_heap::trace>(std::move(context));
  }

 private:
  mutable std::mutex mutex_;
  device_heap heap_;
  pending_uses pending_;
  memory_in_transit in_transit_;
};

}  // namespace outback::core
