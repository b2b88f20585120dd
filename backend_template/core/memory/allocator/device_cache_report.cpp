// What a device_cache tells of itself: statistics, snapshots and the history.
#include <algorithm>
#include <utility>

#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {

size_t device_cache::allocated() const {
  const lock held(mutex_);
  return in_bytes(kept().allocated_bytes);
}

size_t device_cache::reserved() const {
  const lock held(mutex_);
  return in_bytes(kept().reserved_bytes) - adopted_;
}

size_t device_cache::adopted() const {
  const lock held(mutex_);
  return adopted_;
}

size_t device_cache::taken() const {
  const lock held(mutex_);
  return in_bytes(kept().reserved_bytes);
}

size_t device_cache::largest_free() {
  const lock held(mutex_);
  merge_all_recent();
  size_t most = 0;
  arenas_.for_each([&most](const arena& from) { most = std::max(most, from.cached.largest()); });
  return most;
}

// Statistics merge the recent blocks first, so that inactive_split counts what a fully merged heap
// would have.
device_stats device_cache::stats() {
  const lock held(mutex_);
  merge_all_recent();
  device_stats all = statistics_.counts();
  all.max_split_size = static_cast<int64_t>(max_split_size());
  return all;
}

void device_cache::reset_accumulated() {
  const lock held(mutex_);
  merge_all_recent();
  statistics_.reset_accumulated();
}

void device_cache::reset_peak() {
  const lock held(mutex_);
  merge_all_recent();
  statistics_.reset_peak();
}

void device_cache::count_retry() {
  const lock held(mutex_);
  ++kept().num_alloc_retries;
  ++kept().num_sync_all_streams;
}

void device_cache::count_out_of_memory(size_t requested, size_t free, c10::StreamId stream,
                                       std::shared_ptr<c10::GatheredContext> context) {
  const lock held(mutex_);
  ++kept().num_ooms;
  if (!history_.enabled()) return;
  // In an OOM entry the address is the number of free bytes: torch's TraceEntry says so.
  history_.add(trace_entry::OOM, device_, free, requested, stream, {0, 0}, std::move(context));
}

void device_cache::configure_history(const history_settings& settings) {
  const lock held(mutex_);
  history_.configure(settings);
}

void device_cache::set_metadata(const std::string& text) {
  const lock held(mutex_);
  history_.set_metadata(text);
}

void device_cache::write_down(trace_entry::Action action, const block& b, size_t size,
                              const std::shared_ptr<c10::GatheredContext>& context) {
  history_.add(action, device_, reinterpret_cast<size_t>(b.data), size, b.stream, pool_of(b),
               context);
}

std::vector<trace_entry> device_cache::trace(std::shared_ptr<c10::GatheredContext> context) {
  const lock held(mutex_);
  if (history_.enabled()) {
    history_.add(trace_entry::SNAPSHOT, device_, 0, 0, 0, {0, 0}, std::move(context));
  }
  return history_.entries();
}

std::vector<segment_info> device_cache::segments(c10::MempoolId_t pool) {
  const lock held(mutex_);
  merge_all_recent();
  std::vector<segment_info> all;
  for (const block* first = segments_; first != nullptr; first = first->segment_next) {
    const c10::MempoolId_t its_pool = pool_of(*first);
    if (pool != common_pool && its_pool != pool) continue;
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
