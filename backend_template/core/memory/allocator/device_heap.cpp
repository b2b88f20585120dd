#include "backend_template/core/memory/allocator/device_heap.h"

#include <algorithm>
#include <utility>

namespace outback::core {
namespace {

constexpr c10::MempoolId_t common{0, 0};

// torch.cuda counts such blocks apart, as oversize_allocations and oversize_segments.
bool is_oversize(const block& b) {
  return b.home != nullptr && b.size >= max_split_size();
}

// Takes a cached block that is a whole segment out of its arena and puts it in front of `list`.
void take_out(block*& list, block* taken) noexcept {
  taken->home->cached.remove(taken);
  taken->state = block_state::pending;  // neither free nor owned by a tensor
  taken->next = std::exchange(list, taken);
}

}  // namespace

device_heap::device_heap(c10::DeviceIndex device, size_t granule)
    : device_(device), granule_(granule) {
  find_or_make(common);
}

device_heap::~device_heap() {
  // Only the block objects are deleted; every block is in a segment or spare.
  while (segments_ != nullptr) {
    block* gone = std::exchange(segments_, segments_->segment_next);
    while (gone != nullptr) delete std::exchange(gone, gone->after);
  }
  while (spare_ != nullptr) delete std::exchange(spare_, spare_->next);
}

// ---- block objects

// Returns an unused block object. They are never deleted before the heap is, so that most requests
// allocate no host memory.
block* device_heap::new_block() {
  if (spare_ != nullptr) {
    block* const reused = std::exchange(spare_, spare_->next);
    reused->next = nullptr;
    return reused;
  }
  auto* const made = new block;
  made->device = device_;
  return made;
}

// Makes a block object spare, with the fields reset that new_block's callers do not set.
void device_heap::recycle(block* gone) noexcept {
  gone->home = nullptr;
  gone->before = gone->after = nullptr;
  gone->is_adopted = gone->bypasses_cache = false;
  gone->also_used_on.clear();
  gone->context.reset();
  gone->next = std::exchange(spare_, gone);
}

void device_heap::link_segment(block* first) noexcept {
  first->segment_previous = nullptr;
  first->segment_next = segments_;
  if (segments_ != nullptr) segments_->segment_previous = first;
  segments_ = first;
}

void device_heap::unlink_segment(block* first) noexcept {
  block* const next = first->segment_next;
  block* const previous = first->segment_previous;
  if (next != nullptr) next->segment_previous = previous;
  (previous != nullptr ? previous->segment_next : segments_) = next;
  first->segment_previous = first->segment_next = nullptr;
}

// ---- allocating

block* device_heap::take(const block_request& wanted) {
  arena* const from = arenas_.find(wanted.stream, is_small_size(wanted.size), wanted.pool);
  if (C10_UNLIKELY(from == nullptr)) return nullptr;
  if (wanted.size <= largest_recent) {
    // A loop of equal allocations gets the block that it has just freed, without a merge and a
    // split.
    if (block* const same = from->recent.take(wanted.size)) return count_in(same, wanted);
  }
  block* const found = fitting(*from, wanted.size);
  return found == nullptr ? nullptr : hand_out(found, wanted);
}

block* device_heap::take_from_reserves(const block_request& wanted) {
  for (const auto& [id, pool] : pools_) {
    if (!pool.use_on_oom) continue;
    arena* const from = arenas_.find(wanted.stream, is_small_size(wanted.size), id);
    block* const found = from == nullptr ? nullptr : fitting(*from, wanted.size);
    if (found != nullptr) return hand_out(found, wanted);
  }
  return nullptr;
}

// Returns a cached block that fits and that the policy lets the request have, or null.
block* device_heap::fitting(arena& from, size_t size) {
  const auto is_allowed = [size](const block& b) {
    return b.size == size || may_serve(b.size, size);
  };
  for (;;) {
    block* const found = from.cached.best_fit(size);
    if (C10_LIKELY(found != nullptr)) {
      if (C10_LIKELY(is_allowed(*found))) return found;
      // It is too large to be had. A smaller one may be allowed; if the smallest is not, none is.
      block* const smallest = from.cached.smallest_fit(size);
      if (is_allowed(*smallest)) return smallest;
    }
    // The recent blocks may fit once they are merged.
    if (from.recent.empty()) return nullptr;
    merge_recent(from);
  }
}

// Gives `found` to the request, and splits off what is left if that is worth a block. `found` is
// cached, or a new segment that is in no list.
block* device_heap::hand_out(block* found, const block_request& wanted) {
  arena& home = *found->home;
  const bool was_split = found->is_split();
  int64_t inactive_blocks = was_split ? -1 : 0;
  int64_t inactive_bytes = was_split ? -static_cast<int64_t>(found->size) : 0;
  const bool splits = found->size != wanted.size && !home.pool->no_split &&
                      !found->bypasses_cache && should_split(found->size, wanted.size, granule_);
  // First, since it may throw, and nothing has changed yet.
  block* const rest = splits ? new_block() : nullptr;
  if (found->state == block_state::cached) home.cached.remove(found);
  if (rest != nullptr) {
    rest->data = found->data + wanted.size;
    rest->size = found->size - wanted.size;
    rest->home = &home;
    rest->stream = found->stream;
    rest->state = block_state::cached;
    rest->cached_at = found->cached_at;  // it has been free for just as long
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
    statistics_.change_inactive_split(inactive_blocks, inactive_bytes, home.is_small);
  }
  return count_in(found, wanted);
}

// Marks the block as allocated and counts it.
block* device_heap::count_in(block* found, const block_request& wanted) {
  found->state = block_state::allocated;
  found->requested = wanted.requested;
  if (C10_UNLIKELY(wanted.context != nullptr)) found->context = wanted.context;
  const bool small = is_small(*found);
  statistics_.allocate(found->size, found->requested, small);
  if (!small && is_oversize(*found)) device_statistics::add_to(kept().oversize_allocations, 1);
  note(trace_entry::ALLOC, *found, found->requested, found->context);
  return found;
}

block* device_heap::add_segment(void* data, size_t size, const block_request& wanted) {
  memory_pool& pool = find_or_make(wanted.pool);
  // The request's size decides which arena a segment belongs to, not the segment's own.
  arena& home = arenas_.find_or_make(wanted.stream, is_small_size(wanted.size), pool);
  block* const made = new_block();
  made->data = static_cast<std::byte*>(data);
  made->size = size;
  made->stream = wanted.stream;
  made->home = &home;
  made->state = block_state::allocated;
  made->bypasses_cache = wanted.bypasses_cache;
  made->cached_at = freed_count_;
  link_segment(made);
  ++pool.segments;
  statistics_.add_segment(pool.id, size, home.is_small);
  if (is_oversize(*made)) device_statistics::add_to(kept().oversize_segments, 1);
  ++kept().num_device_alloc;
  note(trace_entry::SEGMENT_ALLOC, *made, size, wanted.context);
  return hand_out(made, wanted);
}

block* device_heap::add_adopted(c10::DataPtr&& foreign, size_t size, c10::StreamId stream,
                                std::shared_ptr<c10::GatheredContext> context) {
  block* const made = new_block();
  made->data = static_cast<std::byte*>(foreign.get());
  made->size = size;
  made->stream = stream;
  made->is_adopted = true;
  made->foreign = std::move(foreign);
  // In statistics and in the history, adopted memory is a segment with one block.
  link_segment(made);
  adopted_ += size;
  statistics_.add_segment(common, size, is_small(*made));
  note(trace_entry::SEGMENT_ALLOC, *made, size, context);
  return count_in(made, {.requested = size, .size = size, .stream = stream, .context = context});
}

void device_heap::record(block* used, c10::StreamId stream) {
  auto& streams = used->also_used_on;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

// ---- freeing

// Counts a block as given up by its owner.
void device_heap::count_out(block* freed, const std::shared_ptr<c10::GatheredContext>& context) {
  const bool small = is_small(*freed);
  statistics_.give_up(freed->size, freed->requested, small);
  if (!small && is_oversize(*freed)) device_statistics::remove_from(kept().oversize_allocations, 1);
  note(trace_entry::FREE_REQUESTED, *freed, freed->requested, context);
}

void device_heap::give_up(block* freed, const std::shared_ptr<c10::GatheredContext>& context) {
  freed->state = block_state::pending;
  count_out(freed, context);
}

bool device_heap::put_back(block* freed, const std::shared_ptr<c10::GatheredContext>& context) {
  // A pending block was counted out by give_up.
  if (freed->state == block_state::allocated) count_out(freed, context);
  statistics_.deactivate(freed->size, is_small(*freed));
  note(trace_entry::FREE_COMPLETED, *freed, freed->requested, context);
  if (freed->is_adopted || freed->bypasses_cache) return false;
  cache(freed);
  return true;
}

// Makes the block free. A small one waits among the recent blocks, and the block that it replaces
// there is merged; any other is merged at once.
void device_heap::cache(block* freed) {
  freed->also_used_on.clear();
  freed->context.reset();
  freed->cached_at = ++freed_count_;
  if (freed->size <= largest_recent && freed->home->is_small) {
    freed->state = block_state::recent;
    freed = freed->home->recent.exchange(freed);
  }
  if (freed != nullptr) merge(freed);
}

void device_heap::merge_recent(arena& from) {
  for (int bin = recent_blocks::bins; block* const freed = from.recent.take_any(bin);) merge(freed);
}

void device_heap::merge_all_recent() {
  arenas_.for_each([this](arena& from) { merge_recent(from); });
}

// Joins the block with its free neighbours and puts the result among the arena's free blocks.
void device_heap::merge(block* freed) {
  arena& home = *freed->home;
  // The result is as young as this block: a part of it was in use until now.
  const uint64_t cached_at = freed->cached_at;
  int64_t inactive_blocks = 0;
  int64_t inactive_bytes = 0;
  for (block* neighbour : {freed->before, freed->after}) {
    // A recent neighbour is in no free list yet; it joins when it is merged itself.
    if (neighbour == nullptr || neighbour->state != block_state::cached) continue;
    home.cached.remove(neighbour);
    inactive_blocks -= 1;
    inactive_bytes -= static_cast<int64_t>(neighbour->size);
    // The left one gets both their memory.
    const auto [left, right] =
        neighbour == freed->before ? std::pair(neighbour, freed) : std::pair(freed, neighbour);
    left->size += right->size;
    left->after = right->after;
    if (left->after != nullptr) left->after->before = left;
    recycle(right);
    freed = left;
  }
  freed->state = block_state::cached;
  freed->cached_at = cached_at;
  if (freed->is_split()) {
    inactive_blocks += 1;
    inactive_bytes += static_cast<int64_t>(freed->size);
  }
  home.cached.insert(freed);
  if (inactive_blocks != 0 || inactive_bytes != 0) {
    statistics_.change_inactive_split(inactive_blocks, inactive_bytes, home.is_small);
  }
}

// ---- giving back to the runtime

// Calls `visit` with each cached block that is a whole segment, which it may take out.
template <class Visit>
void device_heap::for_each_whole_segment(Visit visit) {
  // A segment whose last block was freed recently is not whole until it is merged.
  merge_all_recent();
  arenas_.for_each([&](arena& from) {
    from.cached.for_each([&](block* cached) {
      if (!cached->is_split()) visit(cached);
    });
  });
}

block* device_heap::take_cached(c10::MempoolId_t pool, bool of_graphs) {
  block* list = nullptr;
  for_each_whole_segment([&](block* cached) {
    const memory_pool& its = *cached->home->pool;
    const bool is_left = pool == common && of_graphs && its.uses == 0;
    if (its.id == pool || is_left) take_out(list, cached);
  });
  return list;
}

block* device_heap::take_oldest(size_t bytes) {
  std::vector<block*> all;
  for_each_whole_segment([&](block* cached) {
    // Memory of a private pool may be a graph's, which replays use at any time.
    if (cached->home->pool->id == common) all.push_back(cached);
  });
  std::sort(all.begin(), all.end(),
            [](const block* a, const block* b) { return a->cached_at < b->cached_at; });
  block* list = nullptr;
  size_t taken = 0;
  for (auto next = all.begin(); next != all.end() && taken < bytes; ++next) {
    taken += (*next)->size;
    take_out(list, *next);
  }
  return list;
}

void device_heap::keep_cached(block* list) {
  while (list != nullptr) {
    block* const returned = std::exchange(list, list->next);
    returned->state = block_state::cached;
    returned->home->cached.insert(returned);
  }
}

void device_heap::forget(block* gone) {
  note(trace_entry::SEGMENT_FREE, *gone, gone->size, nullptr);
  statistics_.remove_segment(pool_of(*gone), gone->size, is_small(*gone));
  if (is_oversize(*gone)) device_statistics::remove_from(kept().oversize_segments, 1);
  if (gone->is_adopted) {
    adopted_ -= gone->size;
  } else {
    ++kept().num_device_free;
    memory_pool& pool = *gone->home->pool;
    --pool.segments;
    drop_pool_if_unused(pool);
  }
  unlink_segment(gone);
  recycle(gone);
}

// ---- pools

memory_pool& device_heap::find_or_make(c10::MempoolId_t pool) {
  memory_pool& found = pools_[pool];
  found.id = pool;
  return found;
}

void device_heap::set_pool_options(c10::MempoolId_t pool, bool use_on_oom, bool no_split) {
  memory_pool& chosen = find_or_make(pool);
  chosen.use_on_oom = use_on_oom;
  chosen.no_split = no_split;
}

void device_heap::end_pool_use(c10::MempoolId_t pool) {
  const auto used = pools_.find(pool);
  if (used == pools_.end() || used->second.uses == 0) return;
  --used->second.uses;
  drop_pool_if_unused(used->second);
}

int device_heap::pool_uses(c10::MempoolId_t pool) const {
  const auto used = pools_.find(pool);
  return used == pools_.end() ? 0 : used->second.uses;
}

// Its arenas are empty then.
void device_heap::drop_pool_if_unused(memory_pool& pool) {
  if (pool.id == common || pool.uses != 0 || pool.segments != 0) return;
  const c10::MempoolId_t id = pool.id;
  arenas_.remove(id);
  pools_.erase(id);
}

}  // namespace outback::core
