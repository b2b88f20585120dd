// The bookkeeping for one device's memory: free blocks, blocks in use, blocks that wait for a
// stream, the statistics and the history. Start here to understand the allocator.
//
//   device_cache      one for each device (caches.h): a lock, the blocks, the memory pools, the
//                     statistics and the history
//     arena           the free blocks of one stream and one pool, small or large
//     pending_uses    blocks that were freed while streams still use them
//
// The cache makes no decisions and calls no slot: size_policy.h chooses sizes, device_allocator.cpp
// handles a full device, and freeing.h gives memory back. All members are thread-safe. Each holds
// the lock only to relink a few blocks, or to copy the data that it returns, and takes no other
// lock meanwhile.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend_template/core/memory/allocator/arena.h"
#include "backend_template/core/memory/allocator/block.h"
#include "backend_template/core/memory/allocator/history.h"
#include "backend_template/core/memory/allocator/memory_in_transit.h"
#include "backend_template/core/memory/allocator/pending_uses.h"
#include "backend_template/core/memory/allocator/size_policy.h"
#include "backend_template/core/memory/allocator/statistics.h"

namespace outback::core {

using segment_info = c10::CachingDeviceAllocator::SegmentInfo;

/// One allocation. Sizes are in bytes.
struct block_request {
  size_t requested;  // as the user asked
  size_t size;       // of the block, by the size policy
  c10::StreamId stream;
  c10::MempoolId_t pool{0, 0};
  bool bypasses_cache = false;  // wants its own segment, which goes back to the runtime when freed
  std::shared_ptr<c10::GatheredContext> context;  // the caller's stack, if stacks are recorded
};

class device_cache {
  using lock = std::lock_guard<std::mutex>;

  // Calls a member function of `pending_` with the lock held.
  template <auto member, class... Args>
  decltype(auto) in_queues(Args&&... args) {
    const lock held(mutex_);
    return (pending_.*member)(std::forward<Args>(args)...);
  }

 public:
  using request = block_request;

  /// `granule` is the number of bytes of which sizes are multiples: a power of two, at least 64.
  explicit device_cache(c10::DeviceIndex device, size_t granule = smallest_block);
  device_cache(const device_cache&) = delete;
  device_cache& operator=(const device_cache&) = delete;
  /// Deletes the blocks. Their memory stays allocated in the runtime.
  ~device_cache();

  c10::DeviceIndex device() const noexcept { return device_; }
  size_t granule() const noexcept { return granule_; }

  // ---- Allocating. The caller owns the block that these functions return, and it counts as
  // allocated.

  /// Returns a free block that fits, or null if there is none.
  block* take(const request& wanted);
  /// Does what `take` does in the pools with `use_on_oom`, which serve all requests before memory
  /// runs out.
  block* take_from_reserves(const request& wanted);
  /// Makes a segment of `data`, `size` bytes that the runtime has just allocated, and serves the
  /// request from it.
  block* add_segment(void* data, size_t size, const request& wanted);
  /// Makes a block for memory that the CPU's allocator made. The block owns `foreign`. If `taken`
  /// would then exceed `limit` bytes, returns null and leaves `foreign` alone.
  block* add_adopted(c10::DataPtr&& foreign, size_t size, size_t limit, c10::StreamId stream,
                     const std::shared_ptr<c10::GatheredContext>& context);

  /// Returns the first byte of the segment that contains an allocated block.
  void* segment_of(const block& part) const;

  /// Notes that an allocated block is used on another stream than its own (record_stream).
  void record(block* used, c10::StreamId stream);

  // ---- Freeing. `context` is the stack of the thread that frees, or null.

  /// Puts a block that has no owner and that no stream uses back into its arena; frees adopted
  /// memory. Returns false for a block that bypasses the cache: then the caller gives the memory
  /// back and calls `forget`.
  [[nodiscard]] bool put_back(block* freed,
                              const std::shared_ptr<c10::GatheredContext>& context) noexcept;
  /// Counts a block as freed by its owner while streams still use it. The caller calls `put_back`,
  /// or `wait_for` and `end`, later.
  void give_up(block* freed, const std::shared_ptr<c10::GatheredContext>& context) noexcept;

  // ---- Blocks that streams still use: pending_uses.h.

  bool any_pending() const noexcept { return pending_.any(); }
  bool should_ask() noexcept { return pending_.should_ask(); }
  /// Returns the number of the use that became pending last.
  uint64_t newest_pending() { return in_queues<&pending_uses::newest>(); }
  /// Returns a spare or a new use. The caller records its event.
  std::unique_ptr<pending_use> make_use();
  /// Makes a block that was given up wait for the end of all `uses`.
  void wait_for(block* freed, pending_uses::uses&& uses) {
    in_queues<&pending_uses::add>(freed, std::move(uses));
  }
  pending_use* ask(size_t& queue, uint64_t until) noexcept {
    return in_queues<&pending_uses::ask>(queue, until);
  }
  void leave(pending_use* asked) noexcept { in_queues<&pending_uses::leave>(asked); }
  void asked_in_vain() noexcept { pending_.asked_in_vain(); }
  /// Ends a use. If it was the last use of its block, puts the block back. But if the block is
  /// adopted or bypasses the cache, returns it, so that the caller gives the memory back; otherwise
  /// returns null.
  block* end(pending_use* over, size_t queue) noexcept;
  /// Destroys the spare uses and their events, which calls a slot.
  void drop_spare_uses() noexcept {
    pending_uses::destroy(in_queues<&pending_uses::take_spares>());
  }

  // ---- Giving memory back to the runtime.

  /// Takes all wholly free segments of a pool out of the cache, and returns them as a list linked
  /// by `next`. {0, 0} means the common pool and, with `of_graphs`, the pools without users. The
  /// caller gives each segment's memory back and calls `forget`, or calls `keep_cached`.
  block* take_cached(c10::MempoolId_t pool, bool of_graphs = true);
  /// Does what `take_cached` does with the common pool's segments that have been free for longest,
  /// until they have `bytes` in total or no more are free.
  block* take_oldest(size_t bytes);
  /// Undoes `take_cached` or `take_oldest`.
  void keep_cached(block* list) noexcept;
  /// Removes a segment, or adopted memory, after its memory has gone back. Reuses the block object.
  void forget(block* gone) noexcept;
  /// Returns the count of threads that hold memory on its way back. A thread must enter it before
  /// it takes memory out of the cache or of the queues. Other threads that run out of memory wait
  /// for it.
  memory_in_transit& in_transit() noexcept { return in_transit_; }

  // ---- Sizes, in bytes.

  /// Returns the memory that tensors hold.
  size_t allocated() const;
  /// Returns the memory that the runtime has allocated for this cache.
  size_t reserved() const;
  /// Returns the adopted memory (`add_adopted`).
  size_t adopted() const;
  /// Returns the sum of `reserved` and `adopted`.
  size_t taken() const;
  /// Returns the size of the largest free block.
  size_t largest_free();

  // ---- Pools. A pool that has neither users nor segments is removed.

  /// Adds a user to a pool, and makes the pool if needed.
  void begin_pool_use(c10::MempoolId_t pool);
  /// Sets these members of the pool's memory_pool, and makes the pool if needed.
  void set_pool_options(c10::MempoolId_t pool, bool use_on_oom, bool no_split);
  /// Removes a user. Does nothing for a pool without users.
  void end_pool_use(c10::MempoolId_t pool) noexcept;
  /// Returns how many users a pool has.
  int pool_uses(c10::MempoolId_t pool) const;

  // ---- Statistics

  /// Counts an allocation that was tried again after waiting for all pending uses and emptying the
  /// cache (num_alloc_retries and num_sync_all_streams).
  void count_retry();
  /// Counts an out-of-memory error and enters it into the history. `free` is the device's free
  /// memory in bytes.
  void count_out_of_memory(size_t requested, size_t free, c10::StreamId stream,
                           std::shared_ptr<c10::GatheredContext> context);
  device_stats stats();
  void reset_accumulated();
  void reset_peak();

  // ---- History

  void configure_history(const history_settings& settings);
  void set_metadata(const std::string& text);
  /// Returns the segments of a pool and their blocks, ordered by address. {0, 0} means all pools.
  std::vector<segment_info> segments(c10::MempoolId_t pool);
  /// Returns the history, oldest entry first. If the history is recorded, adds a SNAPSHOT entry
  /// with `context` at the end, as torch.cuda does.
  std::vector<trace_entry> trace(std::shared_ptr<c10::GatheredContext> context);

 private:
  device_stats& kept() noexcept { return statistics_.kept(); }
  const device_stats& kept() const noexcept { return statistics_.kept(); }
  static size_t in_bytes(const c10::CachingAllocator::StatArray& all) noexcept {
    return static_cast<size_t>(all[0].current);
  }
  // The steps of the public members; device_cache.cpp describes them.
  void forget_one(block* gone) noexcept;
  bool retire(block* freed, const std::shared_ptr<c10::GatheredContext>& context);
  memory_pool& find_or_make(c10::MempoolId_t pool);
  void drop_pool_if_unused(memory_pool& pool);
  block* fitting(arena& from, size_t size);
  block* hand_out(block* found, const block_request& wanted);
  block* count_in(block* found, const block_request& wanted);
  void count_out(block* freed, const std::shared_ptr<c10::GatheredContext>& context);
  block* new_block();
  void recycle(block* gone) noexcept;
  void link_segment(block* first) noexcept;
  void unlink_segment(block* first) noexcept;
  void cache(block* freed);
  void merge(block* freed);
  void merge_recent(arena& from);
  void merge_all_recent();
  template <class Visit>
  void for_each_whole_segment(Visit visit);
  // Adds an entry to the history, if it is recorded.
  void note(trace_entry::Action action, const block& b, size_t size,
            const std::shared_ptr<c10::GatheredContext>& context) {
    if (C10_UNLIKELY(history_.enabled())) write_down(action, b, size, context);
  }
  void write_down(trace_entry::Action action, const block& b, size_t size,
                  const std::shared_ptr<c10::GatheredContext>& context);

  const c10::DeviceIndex device_;
  const size_t granule_;       // sizes are multiples of it
  uint64_t freed_count_ = 0;   // blocks that were put into the cache so far
  size_t adopted_ = 0;         // bytes
  block* segments_ = nullptr;  // first blocks, linked by segment_next
  block* spare_ = nullptr;     // unused block objects, linked by `next`
  device_statistics statistics_;
  arenas arenas_;
  // Always has the common pool, and the other pools while they have users or segments.
  std::unordered_map<c10::MempoolId_t, memory_pool, c10::MempoolIdHash> pools_;
  history history_;
  mutable std::mutex mutex_;
  pending_uses pending_;
  memory_in_transit in_transit_;
};

/// Returns the pool of a block; {0, 0} for adopted memory.
inline c10::MempoolId_t pool_of(const block& b) noexcept {
  return b.home == nullptr ? common_pool : b.home->pool->id;
}
/// Returns true for blocks that count as oversize_allocations and oversize_segments, as in
/// torch.cuda.
inline bool is_oversize(const block& b) {
  return b.home != nullptr && b.size >= max_split_size();
}
/// Returns true if statistics count the block as small. Its arena decides, not its present size.
inline bool is_small(const block& b) noexcept {
  return b.home == nullptr ? is_small_size(b.size) : b.home->is_small;
}

}  // namespace outback::core
