#include "backend_template/core/memory/allocator/stream_cache.h"

#include <algorithm>
#include <utility>

namespace outback::core {
namespace {

// Change an atomic that is written with the mutex held and read without. A load and a store are
// enough then, and cheaper than an atomic addition.
void add_to(std::atomic<size_t>& total, size_t amount) noexcept {
  total.store(total.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}
void subtract_from(std::atomic<size_t>& total, size_t amount) noexcept {
  total.store(total.load(std::memory_order_relaxed) - amount, std::memory_order_relaxed);
}

// torch.cuda counts such blocks apart, as oversize_allocations and oversize_segments.
bool is_oversize(size_t size) {
  return size >= max_split_size();
}

}  // namespace

stream_cache::stream_cache(c10::StreamId stream, device_shared& shared)
    : shared_(shared), arenas_(stream, shared.pools.common()) {}

stream_cache::~stream_cache() {
  // Only the block objects are deleted; every block is in a segment or spare.
  while (segments_ != nullptr) {
    block* gone = std::exchange(segments_, segments_->segment_next);
    while (gone != nullptr) delete std::exchange(gone, gone->after);
  }
  while (spare_ != nullptr) delete std::exchange(spare_, spare_->next);
}

void stream_cache::write_down(trace_entry::Action action, const block& b, size_t size,
                              const std::shared_ptr<c10::GatheredContext>& context) {
  shared_.recorded.add(action, shared_.device, reinterpret_cast<size_t>(b.data), size, b.stream,
                       pool_of(b), context);
}

// Returns an unused block object. They are never deleted before the cache is, so that most requests
// allocate no host memory. A block's device and keeper never change.
block* stream_cache::new_block() {
  if (spare_ != nullptr) {
    block* const reused = std::exchange(spare_, spare_->next);
    reused->next = nullptr;
    return reused;
  }
  auto* const made = new block;
  made->device = shared_.device;
  made->keeper = this;
  return made;
}

// Makes a block object spare, with the fields reset that new_block's callers do not set.
void stream_cache::recycle(block* gone) noexcept {
  gone->home = nullptr;
  gone->before = gone->after = nullptr;
  gone->is_adopted = gone->bypasses_cache = false;
  gone->also_used_on.clear();
  gone->context.reset();
  gone->next = spare_;
  spare_ = gone;
}

void stream_cache::link_segment(block* first) noexcept {
  first->segment_previous = nullptr;
  first->segment_next = segments_;
  if (segments_ != nullptr) segments_->segment_previous = first;
  segments_ = first;
}

void stream_cache::unlink_segment(block* first) noexcept {
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

block* stream_cache::take(const block_request& wanted) {
  arena* const from = arenas_.find(wanted.stream, is_small_size(wanted.size), wanted.pool);
  if (C10_UNLIKELY(from == nullptr)) return nullptr;
  if (wanted.size <= largest_recent) {
    // A loop of equal allocations gets the block that it has just freed, without a merge and a
    // split.
    if (block* const same = from->recent.take(wanted.size)) return count_in(same, wanted);
  }
  block* found = fitting(*from, wanted.size);
  // The recent blocks may fit once they are merged.
  if (found == nullptr && !from->recent.empty()) {
    settle(*from);
    found = fitting(*from, wanted.size);
  }
  return found == nullptr ? nullptr : hand_out(found, wanted);
}

// Returns a cached block that fits and that the policy lets the request have, or null.
block* stream_cache::fitting(const arena& from, size_t size) noexcept {
  const auto is_allowed = [size](const block& b) {
    return b.size == size || may_serve(b.size, size);
  };
  block* const found = from.cached.best_fit(size);
  if (C10_LIKELY(found == nullptr || is_allowed(*found))) return found;
  // It is too large to be had. A smaller one may be allowed, and if the smallest is not, none is.
  block* const smallest = from.cached.smallest_fit(size);
  return is_allowed(*smallest) ? smallest : nullptr;
}

block* stream_cache::take_from(const memory_pool& pool, const block_request& wanted) {
  arena* const from = arenas_.find(wanted.stream, is_small_size(wanted.size), pool.id);
  if (from == nullptr) return nullptr;
  // Without care for the common path: memory has run out.
  settle(*from);
  block* const found = fitting(*from, wanted.size);
  return found == nullptr ? nullptr : hand_out(found, wanted);
}

// Gives `found` to the request, and splits off what is left if that is worth a block. `found` is
// cached, or a new segment that is in no list.
block* stream_cache::hand_out(block* found, const block_request& wanted) {
  arena& home = *found->home;
  const bool was_split = found->is_split();
  int64_t inactive_blocks = was_split ? -1 : 0;
  int64_t inactive_bytes = was_split ? -static_cast<int64_t>(found->size) : 0;
  const bool splits =
      found->size != wanted.size && !home.pool->no_split && !found->bypasses_cache &&
      should_split(found->size, wanted.size, shared_.granule.load(std::memory_order_relaxed));
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
    counts_.change_inactive_split(inactive_blocks, inactive_bytes, home.is_small);
  }
  return count_in(found, wanted);
}

// Marks the block as allocated and counts it.
block* stream_cache::count_in(block* found, const block_request& wanted) {
  const bool small = found->home->is_small;
  found->state = block_state::allocated;
  found->requested = wanted.requested;
  if (C10_UNLIKELY(wanted.context != nullptr)) found->context = wanted.context;
  counts_.allocate(found->size, found->requested, small);
  if (!small && is_oversize(found->size)) counts_.add_oversize_allocation();
  add_to(allocated_, found->size);
  note(trace_entry::ALLOC, *found, found->requested, found->context);
  return found;
}

block* stream_cache::add_segment(void* data, size_t size, memory_pool& pool,
                                 const block_request& wanted) {
  // The request's size decides which arena a segment belongs to, not the segment's own.
  arena& home = arenas_.find_or_make(wanted.stream, is_small_size(wanted.size), pool);
  block* const made = new_block();
  made->data = static_cast<std::byte*>(data);
  made->size = size;
  made->stream = wanted.stream;
  made->home = &home;
  made->state = block_state::allocated;
  made->bypasses_cache = wanted.bypasses_cache;
  made->cached_at = {shared_.epoch.load(std::memory_order_relaxed), freed_count_};
  link_segment(made);
  counts_.add_segment(size, home.is_small);
  if (is_oversize(size)) counts_.add_oversize_segment();
  note(trace_entry::SEGMENT_ALLOC, *made, size, wanted.context);
  return hand_out(made, wanted);
}

block* stream_cache::add_adopted(c10::DataPtr&& foreign, size_t size, c10::StreamId stream,
                                 std::shared_ptr<c10::GatheredContext> context) {
  block* const made = new_block();
  made->data = static_cast<std::byte*>(foreign.get());
  made->size = size;
  made->requested = size;
  made->stream = stream;
  made->state = block_state::allocated;
  made->is_adopted = true;
  made->foreign = std::move(foreign);
  made->context = std::move(context);
  // In statistics and in the history, adopted memory is a segment with one block.
  link_segment(made);
  const bool small = is_small_size(size);
  counts_.add_segment(size, small);
  counts_.allocate(size, size, small);
  add_to(allocated_, size);
  note(trace_entry::SEGMENT_ALLOC, *made, size, made->context);
  note(trace_entry::ALLOC, *made, size, made->context);
  return made;
}

void stream_cache::record(block* used, c10::StreamId stream) {
  auto& streams = used->also_used_on;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

// ---- freeing

// Joins two neighbours. Returns the left one, which has both their memory.
block* stream_cache::absorb(block* left, block* right) noexcept {
  left->size += right->size;
  left->after = right->after;
  if (left->after != nullptr) left->after->before = left;
  recycle(right);
  return left;
}

// Makes the block free. A small one waits among the recent blocks, and the block that it replaces
// there is merged; any other is merged at once.
void stream_cache::cache(block* freed) noexcept {
  freed->also_used_on.clear();
  freed->context.reset();
  freed->cached_at = {shared_.epoch.load(std::memory_order_relaxed), ++freed_count_};
  if (freed->size <= largest_recent && freed->home->is_small) {
    freed->state = block_state::recent;
    freed = freed->home->recent.exchange(freed);
  }
  if (freed != nullptr) merge(freed);
}

void stream_cache::settle(arena& from) noexcept {
  for (int bin = recent_blocks::bins; block* const freed = from.recent.take_any(bin);) merge(freed);
}

void stream_cache::settle() noexcept {
  arenas_.for_each([this](arena& from) { settle(from); });
}

// Joins the block with its free neighbours and puts the result among the arena's free blocks.
void stream_cache::merge(block* freed) noexcept {
  arena& home = *freed->home;
  // The result is as young as this block: a part of it was in use until now.
  const freeing_order cached_at = freed->cached_at;
  int64_t inactive_blocks = 0;
  int64_t inactive_bytes = 0;
  for (block* neighbour : {freed->before, freed->after}) {
    // A recent neighbour is in no free list yet; it joins when it is merged itself.
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
    counts_.change_inactive_split(inactive_blocks, inactive_bytes, home.is_small);
  }
}

// Counts a block as given up by its owner.
void stream_cache::count_out(block* freed, bool small,
                             const std::shared_ptr<c10::GatheredContext>& context) noexcept {
  counts_.give_up(freed->size, freed->requested, small);
  if (freed->home != nullptr && !small && is_oversize(freed->size)) {
    counts_.remove_oversize_allocation();
  }
  subtract_from(allocated_, freed->size);
  note(trace_entry::FREE_REQUESTED, *freed, freed->requested, context);
}

void stream_cache::give_up(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept {
  freed->state = block_state::pending;
  count_out(freed, is_small(*freed), context);
}

bool stream_cache::put_back(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept {
  const bool small = is_small(*freed);
  // A pending block was counted out by give_up.
  if (freed->state == block_state::allocated) count_out(freed, small, context);
  counts_.deactivate(freed->size, small);
  note(trace_entry::FREE_COMPLETED, *freed, freed->requested, context);
  if (freed->is_adopted || freed->bypasses_cache) return false;
  cache(freed);
  return true;
}

// ---- giving back to the runtime

void stream_cache::take_out(block*& list, block* taken) noexcept {
  taken->home->cached.remove(taken);
  taken->state = block_state::pending;  // neither free nor owned by a tensor
  taken->next = list;
  list = taken;
}

void stream_cache::put_in(block* returned) noexcept {
  returned->state = block_state::cached;
  returned->home->cached.insert(returned);
}

void stream_cache::forget(block* gone) noexcept {
  note(trace_entry::SEGMENT_FREE, *gone, gone->size, nullptr);
  counts_.remove_segment(gone->size, is_small(*gone));
  if (!gone->is_adopted && is_oversize(gone->size)) counts_.remove_oversize_segment();
  unlink_segment(gone);
  recycle(gone);
}

}  // namespace outback::core
