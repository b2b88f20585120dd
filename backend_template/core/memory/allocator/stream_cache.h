// One stream's part of a device's memory: its segments, the free blocks among them, and its part of
// the statistics. A thread that allocates and frees on a stream of its own touches nothing else, so
// threads on different streams do not wait for each other.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "backend_template/core/memory/allocator/arena.h"
#include "backend_template/core/memory/allocator/block.h"
#include "backend_template/core/memory/allocator/history.h"
#include "backend_template/core/memory/allocator/size_policy.h"
#include "backend_template/core/memory/allocator/statistics.h"

namespace outback::core {

/// One allocation. Sizes are in bytes.
struct block_request {
  size_t requested;  // as the user asked
  size_t size;       // what the block must have, by the size policy
  c10::StreamId stream;
  c10::MempoolId_t pool{0, 0};
  bool bypasses_cache = false;  // wants a segment of its own, which goes back when it is freed
  std::shared_ptr<c10::GatheredContext> context;  // the caller's stack, if that is recorded
};

/// What all streams of a device read and seldom change.
struct device_shared {
  explicit device_shared(c10::DeviceIndex index) : device(index) {}

  const c10::DeviceIndex device;
  std::atomic<size_t> granule{smallest_block};  // sizes are multiples of it
  std::atomic<uint64_t> epoch{0};               // how many segments were made so far
  memory_pools pools;                           // guarded by the device's mutex
  history recorded;                             // written with the device's mutex held
};

/// Everything here is guarded by `mutex`, which device_cache takes; device_cache.h has the order of
/// the locks, and describes the members that have the same name there. Several streams may share
/// one object.
class alignas(cache_line) stream_cache {
 public:
  /// `stream` is the one that is expected most. `shared` must outlive this object.
  stream_cache(c10::StreamId stream, device_shared& shared);
  stream_cache(const stream_cache&) = delete;
  stream_cache& operator=(const stream_cache&) = delete;
  /// Deletes the blocks. Their memory stays allocated in the runtime.
  ~stream_cache();

  std::mutex mutex;

  /// Returns a free block of the request's pool that fits, counted as allocated, or null.
  block* take(const block_request& wanted);
  /// Returns a free block of `pool`, which is not the request's, or null.
  block* take_from(const memory_pool& pool, const block_request& wanted);
  /// Makes a segment of `data` in `pool`, and returns the block of it that serves the request. The
  /// caller counts the segment in the pool and the device.
  block* add_segment(void* data, size_t size, memory_pool& pool, const block_request& wanted);
  block* add_adopted(c10::DataPtr&& foreign, size_t size, c10::StreamId stream,
                     std::shared_ptr<c10::GatheredContext> context);
  void record(block* used, c10::StreamId stream);

  [[nodiscard]] bool put_back(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept;
  void give_up(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept;
  /// Removes a segment, or adopted memory, and makes its block object spare. The block must be the
  /// whole segment.
  void forget(block* gone) noexcept;

  /// Merges the recently freed blocks of all arenas with their neighbours.
  void settle() noexcept;
  /// Takes a cached block that is a whole segment out of its arena and puts it in front of `list`.
  static void take_out(block*& list, block* taken) noexcept;
  /// Undoes `take_out` for a block that the caller has removed from its list.
  static void put_in(block* returned) noexcept;

  /// Returns the bytes that tensors hold. It may be called without the mutex, and then returns a
  /// value that was true a moment ago.
  size_t allocated() const noexcept { return allocated_.load(std::memory_order_relaxed); }
  /// Returns this stream's part of the statistics.
  stream_statistics& counts() noexcept { return counts_; }
  /// Removes the arenas of a pool, which must be empty.
  void remove_pool(c10::MempoolId_t pool) noexcept { arenas_.remove(pool); }

  template <class F>
  void for_each_arena(F visit) {
    arenas_.for_each(visit);
  }
  /// Calls `visit` with the first block of each segment, adopted memory included.
  template <class F>
  void for_each_segment(F visit) const {
    for (const block* first = segments_; first != nullptr; first = first->segment_next)
      visit(*first);
  }

 private:
  // The steps of the members above; stream_cache.cpp describes them.
  static block* fitting(const arena& from, size_t size) noexcept;
  block* hand_out(block* found, const block_request& wanted);
  block* count_in(block* found, const block_request& wanted);
  void count_out(block* freed, bool small,
                 const std::shared_ptr<c10::GatheredContext>& context) noexcept;
  block* new_block();
  void recycle(block* gone) noexcept;
  // Put a segment's first block into the list of segments, and take it out.
  void link_segment(block* first) noexcept;
  void unlink_segment(block* first) noexcept;
  block* absorb(block* left, block* right) noexcept;
  void cache(block* freed) noexcept;
  void merge(block* freed) noexcept;
  void settle(arena& from) noexcept;
  // Adds an entry to the history, if it is recorded. Then the device's mutex is held too.
  void note(trace_entry::Action action, const block& b, size_t size,
            const std::shared_ptr<c10::GatheredContext>& context) {
    if (C10_UNLIKELY(shared_.recorded.enabled())) write_down(action, b, size, context);
  }
  void write_down(trace_entry::Action action, const block& b, size_t size,
                  const std::shared_ptr<c10::GatheredContext>& context);

  device_shared& shared_;
  std::atomic<size_t> allocated_{0};  // written with the mutex held
  uint64_t freed_count_ = 0;          // freeing_order::turn of the next block
  block* segments_ = nullptr;         // first blocks, linked by segment_next
  block* spare_ = nullptr;            // unused block objects, linked by `next`
  stream_statistics counts_;
  arenas arenas_;
};

/// Returns the pool of a block; {0, 0} for adopted memory.
inline c10::MempoolId_t pool_of(const block& b) noexcept {
  return b.home == nullptr ? c10::MempoolId_t{0, 0} : b.home->pool->id;
}
/// Returns true if statistics count the block as small. Its arena decides, not its present size.
inline bool is_small(const block& b) noexcept {
  return b.home == nullptr ? is_small_size(b.size) : b.home->is_small;
}

}  // namespace outback::core
