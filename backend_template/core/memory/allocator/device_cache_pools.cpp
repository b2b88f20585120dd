// The pools of a device_cache, and the segments that go back to the runtime.
#include <algorithm>
#include <utility>

#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {
namespace {

// Takes a cached block that is a whole segment out of its arena and puts it in front of `list`.
void take_out(block*& list, block* taken) noexcept {
  taken->home->cached.remove(taken);
  taken->state = block_state::pending;  // neither free nor owned by a tensor
  taken->next = std::exchange(list, taken);
}

}  // namespace

// ---- giving back to the runtime

// Calls `visit` with each cached block that is a whole segment, which it may take out.
template <class Visit>
void device_cache::for_each_whole_segment(Visit visit) {
  // A segment whose last block was freed recently is not whole until it is merged.
  merge_all_recent();
  arenas_.for_each([&](arena& from) {
    from.cached.for_each([&](block* cached) {
      if (!cached->is_split()) visit(cached);
    });
  });
}

block* device_cache::take_cached(c10::MempoolId_t pool, bool of_graphs) {
  const lock held(mutex_);
  block* list = nullptr;
  for_each_whole_segment([&](block* cached) {
    const memory_pool& its = *cached->home->pool;
    const bool is_left = pool == common_pool && of_graphs && its.uses == 0;
    if (its.id == pool || is_left) take_out(list, cached);
  });
  return list;
}

block* device_cache::take_oldest(size_t bytes) {
  const lock held(mutex_);
  std::vector<block*> all;
  for_each_whole_segment([&](block* cached) {
    // Memory of a private pool may be a graph's, which replays use at any time.
    if (cached->home->pool->id == common_pool) all.push_back(cached);
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

void device_cache::keep_cached(block* list) noexcept {
  const lock held(mutex_);
  while (list != nullptr) {
    block* const returned = std::exchange(list, list->next);
    returned->state = block_state::cached;
    returned->home->cached.insert(returned);
  }
}

void device_cache::forget(block* gone) noexcept {
  const lock held(mutex_);
  forget_one(gone);
}

// Does what `forget` says, with the lock held.
void device_cache::forget_one(block* gone) noexcept {
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

void device_cache::begin_pool_use(c10::MempoolId_t pool) {
  const lock held(mutex_);
  ++find_or_make(pool).uses;
}

memory_pool& device_cache::find_or_make(c10::MempoolId_t pool) {
  memory_pool& found = pools_[pool];
  found.id = pool;
  return found;
}

void device_cache::set_pool_options(c10::MempoolId_t pool, bool use_on_oom, bool no_split) {
  const lock held(mutex_);
  memory_pool& chosen = find_or_make(pool);
  chosen.use_on_oom = use_on_oom;
  chosen.no_split = no_split;
}

void device_cache::end_pool_use(c10::MempoolId_t pool) noexcept {
  const lock held(mutex_);
  const auto used = pools_.find(pool);
  if (used == pools_.end() || used->second.uses == 0) return;
  --used->second.uses;
  drop_pool_if_unused(used->second);
}

int device_cache::pool_uses(c10::MempoolId_t pool) const {
  const lock held(mutex_);
  const auto used = pools_.find(pool);
  return used == pools_.end() ? 0 : used->second.uses;
}

// Its arenas are empty then.
void device_cache::drop_pool_if_unused(memory_pool& pool) {
  if (pool.id == common_pool || pool.uses != 0 || pool.segments != 0) return;
  const c10::MempoolId_t id = pool.id;
  arenas_.remove(id);
  pools_.erase(id);
}

}  // namespace outback::core
