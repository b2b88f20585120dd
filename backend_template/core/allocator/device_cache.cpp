#include "backend_template/core/allocator/device_cache.h"

#include <algorithm>
#include <utility>

#include "backend_template/core/allocator/size_policy.h"

namespace outback::core {
namespace {

// With the cache's mutex held: readers need no more than a value that was true a moment ago.
void add_to(std::atomic<size_t>& total, size_t amount) noexcept {
  total.store(total.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}
void take_from(std::atomic<size_t>& total, size_t amount) noexcept {
  total.store(total.load(std::memory_order_relaxed) - amount, std::memory_order_relaxed);
}

c10::MempoolId_t pool_of(const block& b) {
  return b.home == nullptr ? c10::MempoolId_t{0, 0} : b.home->pool->id;
}

bool is_oversize(size_t size) {
  return size >= max_split_size();
}

}  // namespace

device_cache::device_cache(c10::DeviceIndex device) : device_(device) {}

bool device_cache::is_small(const block& b) const noexcept {
  return b.home == nullptr ? is_small_size(b.size) : b.home->is_small;
}

void device_cache::note(trace_entry::Action action, const block& b, size_t size,
                        const std::shared_ptr<c10::GatheredContext>& context) {
  if (C10_LIKELY(!history_.enabled())) return;
  history_.add(action, device_, reinterpret_cast<size_t>(b.data), size, b.stream, pool_of(b),
               context);
}

block* device_cache::new_block() {
  if (spare_ != nullptr) {
    block* const reused = std::exchange(spare_, spare_->next);
    reused->next = nullptr;
    return reused;
  }
  auto* const made = new block;
  made->device = device_;
  return made;
}

void device_cache::recycle(block* gone) noexcept {
  gone->home = nullptr;
  gone->before = gone->after = nullptr;
  gone->is_adopted = gone->bypasses_cache = false;
  gone->also_used_on.clear();
  gone->context.reset();
  gone->next = spare_;
  spare_ = gone;
}

void device_cache::link_segment(block* first) noexcept {
  first->segment_previous = nullptr;
  first->segment_next = segments_;
  if (segments_ != nullptr) segments_->segment_previous = first;
  segments_ = first;
}

void device_cache::unlink_segment(block* first) noexcept {
  if (first->segment_next != nullptr) {
    first->segment_next->segment_previous = first->segment_previous;
  }
  if (first->segment_previous != nullptr) {
    first->segment_previous->segment_next = first->segment_next;
  } else {
    segments_ = first->segment_next;
  }
  first->segment_previous = first->segment_next = nullptr;
}

// ---- allocating

block* device_cache::take(const request& wanted) {
  std::lock_guard<std::mutex> lock(mutex_);
  memory_pool* const pool = arenas_.find_pool(wanted.pool);
  if (C10_UNLIKELY(pool == nullptr)) return nullptr;
  arena& from = arenas_.find(wanted.stream, is_small_size(wanted.size), *pool);
  if (wanted.size <= largest_recent) {
    if (block* const same = from.recent.take(wanted.size)) return count_in(same, wanted);
  }
  block* found = from.cached.best_fit(wanted.size);
  if (found == nullptr && !from.recent.empty()) {
    settle(from);
    found = from.cached.best_fit(wanted.size);
  }
  if (found == nullptr || (found->size != wanted.size && !may_serve(found->size, wanted.size))) {
    return nullptr;
  }
  return hand_out(found, wanted);
}

block* device_cache::take_from_reserves(const request& wanted) {
  std::lock_guard<std::mutex> lock(mutex_);
  block* found = nullptr;
  arenas_.for_each_pool([&](memory_pool& pool) {
    if (found != nullptr || !pool.use_on_oom) return;
    found =
        arenas_.find(wanted.stream, is_small_size(wanted.size), pool).cached.best_fit(wanted.size);
  });
  return found == nullptr ? nullptr : hand_out(found, wanted);
}

// `found` is cached, or a new segment that was in no list yet.
block* device_cache::hand_out(block* found, const request& wanted) {
  arena& home = *found->home;
  const bool was_split = found->is_split();
  int64_t inactive_blocks = was_split ? -1 : 0;
  int64_t inactive_bytes = was_split ? -static_cast<int64_t>(found->size) : 0;
  const bool splits = !home.pool->no_split && !found->bypasses_cache &&
                      should_split(found->size, wanted.size, granule());
  block* const rest = splits ? new_block() : nullptr;
  if (found->state == block_state::cached) home.cached.remove(found);
  if (rest != nullptr) {
    rest->data = found->data + wanted.size;
    rest->size = found->size - wanted.size;
    rest->home = &home;
    rest->stream = found->stream;
    rest->state = block_state::cached;
    rest->cached_at = found->cached_at;
    rest->before = found;
    rest->after = found->after;
    if (rest->after != nullptr) rest->after->before = rest;
    found->after = rest;
    found->size = wanted.size;
    home.cached.insert(rest);
    inactive_blocks += 1;
    inactive_bytes += static_cast<int64_t>(rest->size);
  }
  if (inactive_blocks != 0 || inactive_bytes != 0) {
    stats_.change_inactive_split(inactive_blocks, inactive_bytes, home.is_small);
  }
  return count_in(found, wanted);
}

block* device_cache::count_in(block* found, const request& wanted) {
  const bool small = found->home->is_small;
  found->state = block_state::allocated;
  found->requested = wanted.requested;
  if (C10_UNLIKELY(wanted.context != nullptr)) found->context = wanted.context;
  stats_.allocate(found->size, found->requested, small);
  if (!small && is_oversize(found->size)) stats_.add_oversize_allocation();
  add_to(allocated_, found->size);
  note(trace_entry::ALLOC, *found, found->requested, found->context);
  return found;
}

block* device_cache::add_segment(void* data, size_t size, const request& wanted) {
  std::lock_guard<std::mutex> lock(mutex_);
  memory_pool& pool = arenas_.find_or_make_pool(wanted.pool);
  block* const made = new_block();
  made->data = static_cast<std::byte*>(data);
  made->size = size;
  made->stream = wanted.stream;
  made->home = &arenas_.find(wanted.stream, is_small_size(wanted.size), pool);
  made->state = block_state::allocated;
  made->bypasses_cache = wanted.bypasses_cache;
  made->cached_at = freed_count_;
  ++pool.segments;
  link_segment(made);
  stats_.add_segment(size, made->home->is_small, pool.id);
  stats_.count_device_alloc();
  if (is_oversize(size)) stats_.add_oversize_segment();
  add_to(reserved_, size);
  note(trace_entry::SEGMENT_ALLOC, *made, size, wanted.context);
  return hand_out(made, wanted);
}

block* device_cache::add_adopted(c10::DataPtr&& foreign, size_t size, c10::StreamId stream,
                                 std::shared_ptr<c10::GatheredContext> context) {
  std::lock_guard<std::mutex> lock(mutex_);
  block* const made = new_block();
  made->data = static_cast<std::byte*>(foreign.get());
  made->size = size;
  made->requested = size;
  made->stream = stream;
  made->state = block_state::allocated;
  made->is_adopted = true;
  made->foreign = std::move(foreign);
  made->context = std::move(context);
  link_segment(made);
  const bool small = is_small_size(size);
  stats_.add_segment(size, small, {0, 0});
  stats_.allocate(size, size, small);
  add_to(adopted_, size);
  add_to(allocated_, size);
  note(trace_entry::SEGMENT_ALLOC, *made, size, made->context);
  note(trace_entry::ALLOC, *made, size, made->context);
  return made;
}

void device_cache::record(block* used, c10::StreamId stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& streams = used->also_used_on;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

// ---- freeing

block* device_cache::absorb(block* left, block* right) noexcept {
  left->size += right->size;
  left->after = right->after;
  if (left->after != nullptr) left->after->before = left;
  recycle(right);
  return left;
}

void device_cache::cache(block* freed) noexcept {
  freed->also_used_on.clear();
  freed->context.reset();
  freed->cached_at = ++freed_count_;
  if (freed->size <= largest_recent && freed->home->is_small) {
    freed->state = block_state::recent;
    freed = freed->home->recent.exchange(freed);
  }
  if (freed != nullptr) merge(freed);
}

void device_cache::settle(arena& from) noexcept {
  for (int bin = recent_blocks::bins; block* const it = from.recent.take_any(bin);) merge(it);
}

void device_cache::settle_all() noexcept {
  arenas_.for_each([this](arena& it) { settle(it); });
}

void device_cache::merge(block* freed) noexcept {
  arena& home = *freed->home;
  const uint64_t cached_at = freed->cached_at;
  int64_t inactive_blocks = 0;
  int64_t inactive_bytes = 0;
  for (block* neighbour : {freed->before, freed->after}) {
    if (neighbour == nullptr || neighbour->state != block_state::cached) continue;
    home.cached.remove(neighbour);
    inactive_blocks -= 1;
    inactive_bytes -= static_cast<int64_t>(neighbour->size);
    freed = neighbour == freed->before ? absorb(neighbour, freed) : absorb(freed, neighbour);
  }
  freed->state = block_state::cached;
  freed->cached_at = cached_at;
  if (freed->is_split()) {
    inactive_blocks += 1;
    inactive_bytes += static_cast<int64_t>(freed->size);
  }
  home.cached.insert(freed);
  if (inactive_blocks != 0 || inactive_bytes != 0) {
    stats_.change_inactive_split(inactive_blocks, inactive_bytes, home.is_small);
  }
}

void device_cache::give_up(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  freed->state = block_state::pending;
  stats_.give_up(freed->size, freed->requested, is_small(*freed));
  if (freed->home != nullptr && !freed->home->is_small && is_oversize(freed->size)) {
    stats_.remove_oversize_allocation();
  }
  take_from(allocated_, freed->size);
  note(trace_entry::FREE_REQUESTED, *freed, freed->requested, context);
}

bool device_cache::put_back(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool small = is_small(*freed);
  if (freed->state == block_state::allocated) {
    stats_.give_up(freed->size, freed->requested, small);
    if (freed->home != nullptr && !small && is_oversize(freed->size)) {
      stats_.remove_oversize_allocation();
    }
    take_from(allocated_, freed->size);
    note(trace_entry::FREE_REQUESTED, *freed, freed->requested, context);
  }
  stats_.deactivate(freed->size, small);
  note(trace_entry::FREE_COMPLETED, *freed, freed->requested, context);
  if (freed->is_adopted || freed->bypasses_cache) return false;
  cache(freed);
  return true;
}

void device_cache::put_pending(pending_block&& waiting) {
  std::lock_guard<std::mutex> lock(mutex_);
  pending_.push_back(std::move(waiting));
  pending_count_.store(pending_.size(), std::memory_order_relaxed);
}

std::vector<pending_block> device_cache::take_pending() {
  std::lock_guard<std::mutex> lock(mutex_);
  pending_count_.store(0, std::memory_order_relaxed);
  return std::exchange(pending_, {});
}

// ---- giving back to the runtime

void device_cache::take_out(arena& from, block*& list, block* it) noexcept {
  from.cached.remove(it);
  it->state = block_state::pending;  // neither free for anybody nor a tensor's
  it->next = list;
  list = it;
}

block* device_cache::take_cached(c10::MempoolId_t pool) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  settle_all();
  block* list = nullptr;
  const bool common = pool == c10::MempoolId_t{0, 0};
  arenas_.for_each([&](arena& from) {
    const bool is_meant =
        common ? from.pool->id == pool || from.pool->uses == 0 : from.pool->id == pool;
    if (!is_meant) return;
    from.cached.for_each([&](block* it) {
      if (!it->is_split()) take_out(from, list, it);
    });
  });
  return list;
}

block* device_cache::take_oldest(size_t bytes) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  settle_all();
  block* list = nullptr;
  for (size_t taken = 0; taken < bytes;) {
    block* oldest = nullptr;
    arena* home = nullptr;
    arenas_.for_each([&](arena& from) {
      if (from.pool != &arenas_.common_pool()) return;
      from.cached.for_each([&](block* it) {
        if (it->is_split() || (oldest != nullptr && oldest->cached_at <= it->cached_at)) return;
        oldest = it;
        home = &from;
      });
    });
    if (oldest == nullptr) break;
    taken += oldest->size;
    take_out(*home, list, oldest);
  }
  return list;
}

void device_cache::forget(block* gone) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  const bool small = is_small(*gone);
  note(trace_entry::SEGMENT_FREE, *gone, gone->size, nullptr);
  stats_.remove_segment(gone->size, small, pool_of(*gone));
  unlink_segment(gone);
  if (gone->is_adopted) {
    take_from(adopted_, gone->size);
  } else {
    take_from(reserved_, gone->size);
    stats_.count_device_free();
    if (is_oversize(gone->size)) stats_.remove_oversize_segment();
    memory_pool& pool = *gone->home->pool;
    --pool.segments;
    drop_pool_if_unused(pool);
  }
  recycle(gone);
}

// ---- pools

void device_cache::begin_pool_use(c10::MempoolId_t pool) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++arenas_.find_or_make_pool(pool).uses;
}

void device_cache::set_pool_options(c10::MempoolId_t pool, bool use_on_oom, bool no_split) {
  std::lock_guard<std::mutex> lock(mutex_);
  memory_pool& it = arenas_.find_or_make_pool(pool);
  it.use_on_oom = use_on_oom;
  it.no_split = no_split;
}

void device_cache::end_pool_use(c10::MempoolId_t pool) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  memory_pool* const it = arenas_.find_pool(pool);
  if (it == nullptr || it->uses == 0) return;
  --it->uses;
  drop_pool_if_unused(*it);
}

int device_cache::pool_uses(c10::MempoolId_t pool) {
  std::lock_guard<std::mutex> lock(mutex_);
  const memory_pool* const it = arenas_.find_pool(pool);
  return it == nullptr ? 0 : it->uses;
}

void device_cache::drop_pool_if_unused(memory_pool& pool) noexcept {
  if (&pool == &arenas_.common_pool() || pool.uses != 0 || pool.segments != 0) return;
  arenas_.remove_pool(pool.id);
}

// ---- what is there

size_t device_cache::largest_free() {
  std::lock_guard<std::mutex> lock(mutex_);
  settle_all();
  size_t most = 0;
  arenas_.for_each([&most](const arena& it) { most = std::max(most, it.cached.largest()); });
  return most;
}

void device_cache::count_retry() {
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.count_retry();
}

void device_cache::count_synchronization() {
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.count_synchronization();
}

void device_cache::count_out_of_memory(size_t requested, size_t free, c10::StreamId stream,
                                       std::shared_ptr<c10::GatheredContext> context) {
  std::lock_guard<std::mutex> lock(mutex_);
  stats_.count_out_of_memory();
  if (!history_.enabled()) return;
  history_.add(trace_entry::OOM, device_, free, requested, stream, {0, 0}, std::move(context));
}

device_stats device_cache::stats() {
  std::lock_guard<std::mutex> lock(mutex_);
  settle_all();
  device_stats all = stats_.counts();
  all.max_split_size = static_cast<int64_t>(max_split_size());
  return all;
}

void device_cache::reset_accumulated() {
  std::lock_guard<std::mutex> lock(mutex_);
  settle_all();
  stats_.reset_accumulated();
}

void device_cache::reset_peak() {
  std::lock_guard<std::mutex> lock(mutex_);
  settle_all();
  stats_.reset_peak();
}

void device_cache::configure_history(const history_settings& settings) {
  std::lock_guard<std::mutex> lock(mutex_);
  history_.configure(settings);
}

void device_cache::set_metadata(const std::string& text) {
  std::lock_guard<std::mutex> lock(mutex_);
  history_.set_metadata(text);
}

std::vector<segment_info> device_cache::segments(c10::MempoolId_t pool) {
  std::vector<segment_info> all;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    settle_all();
    for (const block* first = segments_; first != nullptr; first = first->segment_next) {
      const c10::MempoolId_t its_pool = pool_of(*first);
      if (pool != c10::MempoolId_t{0, 0} && its_pool != pool) continue;
      segment_info& segment = all.emplace_back();
      segment.device = device_;
      segment.address = reinterpret_cast<size_t>(first->data);
      segment.stream = reinterpret_cast<void*>(first->stream);  // NOLINT(performance-no-int-to-ptr)
      segment.is_large = !is_small(*first);
      segment.owner_private_pool_id = its_pool;
      segment.context_when_allocated = first->context;
      for (const block* it = first; it != nullptr; it = it->after) {
        auto& info = segment.blocks.emplace_back();
        info.size = it->size;
        info.allocated = it->state == block_state::allocated;
        info.active = it->state != block_state::cached;  // recent ones were settled
        info.requested_size = info.active ? it->requested : 0;
        info.context_when_allocated = it->context;
        segment.total_size += info.size;
        if (info.allocated) segment.allocated_size += info.size;
        if (info.active) segment.active_size += info.size;
        if (info.allocated) segment.requested_size += info.requested_size;
      }
    }
  }
  std::sort(all.begin(), all.end(),
            [](const segment_info& a, const segment_info& b) { return a.address < b.address; });
  return all;
}

std::vector<trace_entry> device_cache::trace(std::shared_ptr<c10::GatheredContext> context) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (history_.enabled()) {
    history_.add(trace_entry::SNAPSHOT, device_, 0, 0, 0, {0, 0}, std::move(context));
  }
  return history_.entries();
}

}  // namespace outback::core
