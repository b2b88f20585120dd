#include "backend_template/core/memory/allocator/device_cache.h"

#include <algorithm>
#include <utility>

namespace outback::core {

device_cache::device_cache(c10::DeviceIndex device, size_t granule)
    : device_(device), granule_(granule) {
  find_or_make(common_pool);
}

device_cache::~device_cache() {
  // Only the block objects are deleted; every block is in a segment or spare.
  while (segments_ != nullptr) {
    block* gone = std::exchange(segments_, segments_->segment_next);
    while (gone != nullptr) delete std::exchange(gone, gone->after);
  }
  while (spare_ != nullptr) delete std::exchange(spare_, spare_->next);
}

// ---- block objects

// Returns an unused block object. They are never deleted before the cache is, so that most requests
// allocate no host memory.
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

// Makes a block object spare, with the fields reset that new_block's callers do not set.
void device_cache::recycle(block* gone) noexcept {
  gone->home = nullptr;
  gone->before = gone->after = nullptr;
  gone->is_adopted = gone->bypasses_cache = false;
  gone->also_used_on.clear();
  gone->context.reset();
  gone->next = std::exchange(spare_, gone);
}

void device_cache::link_segment(block* first) noexcept {
  first->segment_previous = nullptr;
  first->segment_next = segments_;
  if (segments_ != nullptr) segments_->segment_previous = first;
  segments_ = first;
}

void device_cache::unlink_segment(block* first) noexcept {
  block* const next = first->segment_next;
  block* const previous = first->segment_previous;
  if (next != nullptr) next->segment_previous = previous;
  (previous != nullptr ? previous->segment_next : segments_) = next;
  first->segment_previous = first->segment_next = nullptr;
}

// ---- allocating

block* device_cache::take(const block_request& wanted) {
  const lock held(mutex_);
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

block* device_cache::take_from_reserves(const block_request& wanted) {
  const lock held(mutex_);
  for (const auto& [id, pool] : pools_) {
    if (!pool.use_on_oom) continue;
    arena* const from = arenas_.find(wanted.stream, is_small_size(wanted.size), id);
    block* const found = from == nullptr ? nullptr : fitting(*from, wanted.size);
    if (found != nullptr) return hand_out(found, wanted);
  }
  return nullptr;
}

// Returns a cached block that fits and that the policy lets the request have, or null.
block* device_cache::fitting(arena& from, size_t size) {
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
block* device_cache::hand_out(block* found, const block_request& wanted) {
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
block* device_cache::count_in(block* found, const block_request& wanted) {
  found->state = block_state::allocated;
  found->requested = wanted.requested;
  if (C10_UNLIKELY(wanted.context != nullptr)) found->context = wanted.context;
  const bool small = is_small(*found);
  statistics_.allocate(found->size, found->requested, small);
  if (!small && is_oversize(*found)) device_statistics::add_to(kept().oversize_allocations, 1);
  note(trace_entry::ALLOC, *found, found->requested, found->context);
  return found;
}

block* device_cache::add_segment(void* data, size_t size, const block_request& wanted) {
  const lock held(mutex_);
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

block* device_cache::add_adopted(c10::DataPtr&& foreign, size_t size, size_t limit,
                                 c10::StreamId stream,
                                 const std::shared_ptr<c10::GatheredContext>& context) {
  const lock held(mutex_);
  const size_t taken = in_bytes(kept().reserved_bytes);
  if (C10_UNLIKELY(size > (limit > taken ? limit - taken : 0))) return nullptr;
  block* const made = new_block();
  made->data = static_cast<std::byte*>(foreign.get());
  made->size = size;
  made->stream = stream;
  made->is_adopted = true;
  made->foreign = std::move(foreign);
  // In statistics and in the history, adopted memory is a segment with one block.
  link_segment(made);
  adopted_ += size;
  statistics_.add_segment(common_pool, size, is_small(*made));
  note(trace_entry::SEGMENT_ALLOC, *made, size, context);
  return count_in(made, {.requested = size, .size = size, .stream = stream, .context = context});
}

void* device_cache::segment_of(const block& part) const {
  const lock held(mutex_);
  const block* first = &part;
  while (first->before != nullptr) first = first->before;
  return first->data;
}

void device_cache::record(block* used, c10::StreamId stream) {
  const lock held(mutex_);
  auto& streams = used->also_used_on;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

// ---- freeing

// Counts a block as given up by its owner.
void device_cache::count_out(block* freed, const std::shared_ptr<c10::GatheredContext>& context) {
  const bool small = is_small(*freed);
  statistics_.give_up(freed->size, freed->requested, small);
  if (!small && is_oversize(*freed)) device_statistics::remove_from(kept().oversize_allocations, 1);
  note(trace_entry::FREE_REQUESTED, *freed, freed->requested, context);
}

void device_cache::give_up(block* freed,
                           const std::shared_ptr<c10::GatheredContext>& context) noexcept {
  const lock held(mutex_);
  freed->state = block_state::pending;
  count_out(freed, context);
}

bool device_cache::put_back(block* freed,
                            const std::shared_ptr<c10::GatheredContext>& context) noexcept {
  c10::DataPtr foreign;  // freed when the lock has ended: its deleter may take locks
  const lock held(mutex_);
  if (retire(freed, context)) return true;
  if (!freed->is_adopted) return false;
  foreign = std::move(freed->foreign);
  forget_one(freed);
  return true;
}

// Counts the block as free and caches it. Returns false if it leaves instead. With the lock held.
bool device_cache::retire(block* freed, const std::shared_ptr<c10::GatheredContext>& context) {
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
void device_cache::cache(block* freed) {
  freed->also_used_on.clear();
  freed->context.reset();
  freed->cached_at = ++freed_count_;
  if (freed->size <= largest_recent && freed->home->is_small) {
    freed->state = block_state::recent;
    freed = freed->home->recent.exchange(freed);
  }
  if (freed != nullptr) merge(freed);
}

void device_cache::merge_recent(arena& from) {
  for (int bin = recent_blocks::bins; block* const freed = from.recent.take_any(bin);) merge(freed);
}

void device_cache::merge_all_recent() {
  arenas_.for_each([this](arena& from) { merge_recent(from); });
}

// Joins the block with its free neighbours and puts the result among the arena's free blocks.
void device_cache::merge(block* freed) {
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

// ---- what streams still use

std::unique_ptr<pending_use> device_cache::make_use() {
  // The lock ends before a new one is allocated.
  std::unique_ptr<pending_use> spare = in_queues<&pending_uses::take_spare>();
  return spare != nullptr ? std::move(spare) : std::make_unique<pending_use>();
}

block* device_cache::end(pending_use* over, size_t queue) noexcept {
  const lock held(mutex_);
  block* const freed = pending_.end(over, queue);
  return freed == nullptr || retire(freed, nullptr) ? nullptr : freed;
}

}  // namespace outback::core
