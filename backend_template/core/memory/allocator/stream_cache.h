// One stream's part of a device's memory: its segments, what is free of them, and its part of the
// statistics. What a thread allocates and frees on a stream of its own touches nothing else, so
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

struct block_request {
  size_t requested;  // bytes as asked for
  size_t size;       // what it takes, by the size policy
  c10::StreamId stream;
  c10::MempoolId_t pool{0, 0};
  bool bypasses_cache = false;  // a segment of its own, which goes back when it is freed
  std::shared_ptr<c10::GatheredContext> context;
};

/// What all streams of a device read, and seldom change.
struct device_shared {
  explicit device_shared(c10::DeviceIndex index) : device(index) {}

  const c10::DeviceIndex device;
  std::atomic<size_t> granule{smallest_block};
  std::atomic<uint64_t> epoch{0};  // segments so far
  memory_pools pools;
  history recorded;  // added to under the mutex of the device
};

/// Guarded by `mutex`, which device_cache takes: its header has the order of the locks. Streams
/// whose numbers are far apart may share one.
class alignas(cache_line) stream_cache {
 public:
  stream_cache(c10::StreamId stream, device_shared& shared);
  stream_cache(const stream_cache&) = delete;
  stream_cache& operator=(const stream_cache&) = delete;
  /// The blocks go, their memory stays with the runtime.
  ~stream_cache();

  std::mutex mutex;

  /// A free block, counted as allocated; null when there is none that fits.
  block* take(const block_request& wanted);
  /// The same out of another pool than the request's, without looking for what merges.
  block* take_from(const memory_pool& pool, const block_request& wanted);
  /// Makes `data` a segment and serves the request from it.
  block* add_segment(void* data, size_t size, memory_pool& pool, const block_request& wanted);
  block* add_adopted(c10::DataPtr&& foreign, size_t size, c10::StreamId stream,
                     std::shared_ptr<c10::GatheredContext> context);
  void record(block* used, c10::StreamId stream);

  [[nodiscard]] bool put_back(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept;
  void give_up(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept;
  /// Counts a segment, or adopted memory, out.
  void forget(block* gone) noexcept;

  /// Merges what was freed last with its neighbours.
  void settle() noexcept;
  /// Puts a cached block that is a whole segment in front of `list`.
  static void take_out(block*& list, block* it) noexcept;
  /// Undoes it.
  static void put_in(block* it) noexcept;

  /// Bytes of tensors. Without the mutex: of a moment ago.
  size_t allocated() const noexcept { return allocated_.load(std::memory_order_relaxed); }
  stream_statistics& counts() noexcept { return counts_; }
  void remove_pool(c10::MempoolId_t pool) noexcept { arenas_.remove(pool); }

  template <class F>
  void for_each_arena(F visit) {
    arenas_.for_each(visit);
  }
  template <class F>
  void for_each_segment(F visit) const {
    for (const block* it = segments_; it != nullptr; it = it->segment_next) visit(*it);
  }

 private:
  block* hand_out(block* found, const block_request& wanted);
  block* count_in(block* found, const block_request& wanted);
  void count_out(block* freed, bool small,
                 const std::shared_ptr<c10::GatheredContext>& context) noexcept;
  block* new_block();
  void recycle(block* gone) noexcept;
  void link_segment(block* first) noexcept;
  void unlink_segment(block* first) noexcept;
  block* absorb(block* left, block* right) noexcept;
  void cache(block* freed) noexcept;
  void merge(block* freed) noexcept;
  void settle(arena& from) noexcept;
  void note(trace_entry::Action action, const block& b, size_t size,
            const std::shared_ptr<c10::GatheredContext>& context) {
    if (C10_UNLIKELY(shared_.recorded.enabled())) write_down(action, b, size, context);
  }
  void write_down(trace_entry::Action action, const block& b, size_t size,
                  const std::shared_ptr<c10::GatheredContext>& context);

  device_shared& shared_;
  std::atomic<size_t> allocated_{0};  // written with the mutex held
  uint64_t freed_count_ = 0;
  block* segments_ = nullptr;
  block* spare_ = nullptr;
  stream_statistics counts_;
  arenas arenas_;
};

/// The pool of a block, and whether it counts as a small one.
inline c10::MempoolId_t pool_of(const block& b) noexcept {
  return b.home == nullptr ? c10::MempoolId_t{0, 0} : b.home->pool->id;
}
inline bool is_small(const block& b) noexcept {
  return b.home == nullptr ? is_small_size(b.size) : b.home->is_small;
}

}  // namespace outback::core
