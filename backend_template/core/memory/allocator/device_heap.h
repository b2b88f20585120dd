// The blocks of one device: what is free, what is in use, the memory pools, the statistics and the
// history. Not thread-safe: device_cache.h adds the lock, and describes the members that have the
// same name there. It calls no slot.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "backend_template/core/memory/allocator/arena.h"
#include "backend_template/core/memory/allocator/block.h"
#include "backend_template/core/memory/allocator/history.h"
#include "backend_template/core/memory/allocator/size_policy.h"
#include "backend_template/core/memory/allocator/statistics.h"

namespace outback::core {

using segment_info = c10::CachingDeviceAllocator::SegmentInfo;

/// One allocation. Sizes are in bytes.
struct block_request {
  size_t requested;  // as the user asked
  size_t size;       // what the block must have, by the size policy
  c10::StreamId stream;
  c10::MempoolId_t pool{0, 0};
  bool bypasses_cache = false;  // wants a segment of its own, which goes back when it is freed
  std::shared_ptr<c10::GatheredContext> context;  // the caller's stack, if that is recorded
};

class device_heap {
 public:
  device_heap(c10::DeviceIndex device, size_t granule);
  device_heap(const device_heap&) = delete;
  device_heap& operator=(const device_heap&) = delete;
  /// Deletes the blocks. Their memory stays allocated in the runtime.
  ~device_heap();

  c10::DeviceIndex device() const noexcept { return device_; }
  size_t granule() const noexcept { return granule_; }

  block* take(const block_request& wanted);
  block* take_from_reserves(const block_request& wanted);
  block* add_segment(void* data, size_t size, const block_request& wanted);
  block* add_adopted(c10::DataPtr&& foreign, size_t size, c10::StreamId stream,
                     std::shared_ptr<c10::GatheredContext> context);
  void record(block* used, c10::StreamId stream);

  [[nodiscard]] bool put_back(block* freed, const std::shared_ptr<c10::GatheredContext>& context);
  void give_up(block* freed, const std::shared_ptr<c10::GatheredContext>& context);

  block* take_cached(c10::MempoolId_t pool, bool of_graphs = true);
  block* take_oldest(size_t bytes);
  void keep_cached(block* list);
  void forget(block* gone);

  size_t allocated() const noexcept { return in_bytes(kept().allocated_bytes); }
  size_t reserved() const noexcept { return in_bytes(kept().reserved_bytes) - adopted_; }
  size_t adopted() const noexcept { return adopted_; }
  size_t largest_free();

  void begin_pool_use(c10::MempoolId_t pool) { ++find_or_make(pool).uses; }
  void set_pool_options(c10::MempoolId_t pool, bool use_on_oom, bool no_split);
  void end_pool_use(c10::MempoolId_t pool);
  int pool_uses(c10::MempoolId_t pool) const;

  void count_retry();
  void count_out_of_memory(size_t requested, size_t free, c10::StreamId stream,
                           std::shared_ptr<c10::GatheredContext> context);
  device_stats stats();
  void reset_accumulated();
  void reset_peak();

  void configure_history(const history_settings& settings) { history_.configure(settings); }
  void set_metadata(const std::string& text) { history_.set_metadata(text); }
  std::vector<segment_info> segments(c10::MempoolId_t pool);
  std::vector<trace_entry> trace(std::shared_ptr<c10::GatheredContext> context);

 private:
  device_stats& kept() noexcept { return statistics_.kept(); }
  const device_stats& kept() const noexcept { return statistics_.kept(); }
  static size_t in_bytes(const c10::CachingAllocator::StatArray& all) noexcept {
    return static_cast<size_t>(all[0].current);
  }
  // The steps of the members above; device_heap.cpp describes them.
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
  // The common pool is always there; the others while they have users or segments.
  std::unordered_map<c10::MempoolId_t, memory_pool, c10::MempoolIdHash> pools_;
  history history_;
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
