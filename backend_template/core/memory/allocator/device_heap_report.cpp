// What a device_heap tells of itself: statistics, snapshots and the history.
#include <algorithm>
#include <utility>

#include "backend_template/core/memory/allocator/device_heap.h"

namespace outback::core {

size_t device_heap::largest_free() {
  merge_all_recent();
  size_t most = 0;
  arenas_.for_each([&most](const arena& from) { most = std::max(most, from.cached.largest()); });
  return most;
}

// Statistics merge the recent blocks first, so that inactive_split counts what a fully merged heap
// would have.
device_stats device_heap::stats() {
  merge_all_recent();
  device_stats all = statistics_.counts();
  all.max_split_size = static_cast<int64_t>(max_split_size());
  return all;
}

void device_heap::reset_accumulated() {
  merge_all_recent();
  statistics_.reset_accumulated();
}

void device_heap::reset_peak() {
  merge_all_recent();
  statistics_.reset_peak();
}

void device_heap::count_retry() {
  ++kept().num_alloc_retries;
  ++kept().num_sync_all_streams;
}

void device_heap::count_out_of_memory(size_t requested, size_t free, c10::StreamId stream,
                                      std::shared_ptr<c10::GatheredContext> context) {
  ++kept().num_ooms;
  if (!history_.enabled()) return;
  // In an OOM entry the address is the number of free bytes: torch's TraceEntry says so.
  history_.add(trace_entry::OOM, device_, free, requested, stream, {0, 0}, std::move(context));
}

void device_heap::write_down(trace_entry::Action action, const block& b, size_t size,
                             const std::shared_ptr<c10::GatheredContext>& context) {
  history_.add(action, device_, reinterpret_cast<size_t>(b.data), size, b.stream, pool_of(b),
               context);
}

std::vector<trace_entry> device_heap::trace(std::shared_ptr<c10::GatheredContext> context) {
  if (history_.enabled()) {
    history_.add(trace_entry::SNAPSHOT, device_, 0, 0, 0, {0, 0}, std::move(context));
  }
  return history_.entries();
}

std::vector<segment_info> device_heap::segments(c10::MempoolId_t pool) {
  merge_all_recent();
  std::vector<segment_info> all;
  for (const block* first = segments_; first != nullptr; first = first->segment_next) {
    const c10::MempoolId_t its_pool = pool_of(*first);
    if (pool != c10::MempoolId_t{0, 0} && its_pool != pool) continue;
    segment_info& segment = all.emplace_back();
    segment.device = device_;
    segment.address = reinterpret_cast<size_t>(first->data);
    // torch's field is a pointer, for the stream's address. Here it holds the stream's number.
    segment.stream = reinterpret_cast<void*>(first->stream);  // NOLINT(performance-no-int-to-ptr)
    segment.is_large = !is_small(*first);
    segment.owner_private_pool_id = its_pool;
    segment.context_when_allocated = first->context;
    for (const block* part = first; part != nullptr; part = part->after) {
      auto& info = segment.blocks.emplace_back();
      info.size = part->size;
      info.allocated = part->state == block_state::allocated;
      // No block is `recent` here: they were merged.
      info.active = part->state != block_state::cached;
      info.requested_size = info.active ? part->requested : 0;
      info.context_when_allocated = part->context;
      segment.total_size += info.size;
      if (info.allocated) segment.allocated_size += info.size;
      if (info.active) segment.active_size += info.size;
      if (info.allocated) segment.requested_size += info.requested_size;
    }
  }
  std::sort(all.begin(), all.end(),
            [](const segment_info& a, const segment_info& b) { return a.address < b.address; });
  return all;
}

}  // namespace outback::core
