#include "backend_template/core/memory/allocator/device_cache.h"

#include <algorithm>
#include <utility>

#include "backend_template/core/memory/allocator/cache_locks.h"
#include "backend_template/core/memory/allocator/size_policy.h"

namespace outback::core {

device_cache::device_cache(c10::DeviceIndex device) : shared_(device) {}

device_cache::~device_cache() {
  for_each_stream([](stream_cache& part) { delete &part; });
}

template <class F>
void device_cache::for_each_stream(F visit) const {
  for (const auto& slot : streams_) {
    if (stream_cache* const part = slot.load(std::memory_order_acquire)) visit(*part);
  }
}

stream_cache& device_cache::stream_of(c10::StreamId stream) {
  const auto& slot = streams_[static_cast<size_t>(stream) % most_streams];
  stream_cache* const part = slot.load(std::memory_order_acquire);
  return C10_LIKELY(part != nullptr) ? *part : make_stream(stream);
}

// The first stream of a place gives the stream_cache its most used stream; others may share it.
stream_cache& device_cache::make_stream(c10::StreamId stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& slot = streams_[static_cast<size_t>(stream) % most_streams];
  if (stream_cache* const there = slot.load(std::memory_order_relaxed)) return *there;
  auto made = std::make_unique<stream_cache>(stream, shared_);
  shares_.push_back(&made->counts().counted());
  // Last: from now on other threads find it without the mutex.
  stream_cache* const part = made.release();
  slot.store(part, std::memory_order_release);
  return *part;
}

void device_cache::settle_peaks() noexcept {
  lock_of_all lock(*this);  // its constructor settles
}

// ---- allocating

block* device_cache::take(const request& wanted) {
  stream_cache& part = stream_of(wanted.stream);
  stream_lock lock(*this, part);
  return part.take(wanted);
}

block* device_cache::take_from_reserves(const request& wanted) {
  stream_cache& part = stream_of(wanted.stream);
  // With the device's mutex, which guards the pools.
  stream_lock lock(*this, part, /*device_too=*/true);
  block* found = nullptr;
  shared_.pools.for_each_private([&](const memory_pool& pool) {
    if (found == nullptr && pool.use_on_oom) found = part.take_from(pool, wanted);
  });
  return found;
}

block* device_cache::add_segment(void* data, size_t size, const request& wanted) {
  stream_cache& part = stream_of(wanted.stream);
  stream_lock lock(*this, part, /*device_too=*/true);
  memory_pool& pool = shared_.pools.find_or_make(wanted.pool);
  // Before the block is made: freeing_order compares blocks of different streams by this number.
  shared_.epoch.fetch_add(1, std::memory_order_relaxed);
  block* const made = part.add_segment(data, size, pool, wanted);
  if (&pool != &shared_.pools.common()) ++pool.segments;
  stats_.add_segment_of(pool.id, size, is_small(*made));
  stats_.count_device_alloc();
  reserved_.fetch_add(size, std::memory_order_relaxed);
  return made;
}

block* device_cache::add_adopted(c10::DataPtr&& foreign, size_t size, c10::StreamId stream,
                                 std::shared_ptr<c10::GatheredContext> context) {
  stream_cache& part = stream_of(stream);
  stream_lock lock(*this, part);
  block* const made = part.add_adopted(std::move(foreign), size, stream, std::move(context));
  adopted_.fetch_add(size, std::memory_order_relaxed);
  return made;
}

void device_cache::record(block* used, c10::StreamId stream) {
  stream_lock lock(*this, *used->keeper);
  used->keeper->record(used, stream);
}

// ---- freeing

void device_cache::give_up(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept {
  stream_lock lock(*this, *freed->keeper);
  freed->keeper->give_up(freed, std::move(context));
}

bool device_cache::put_back(block* freed, std::shared_ptr<c10::GatheredContext> context) noexcept {
  // Read `keeper` now: once it is put back, the block may get another owner at any time.
  stream_cache& part = *freed->keeper;
  stream_lock lock(*this, part);
  return part.put_back(freed, std::move(context));
}

// ---- giving back to the runtime

block* device_cache::take_cached(c10::MempoolId_t pool) noexcept {
  lock_of_all lock(*this);
  // A segment whose last block was freed recently is not whole until it is merged.
  lock.merge_recent();
  block* list = nullptr;
  const bool common = pool == c10::MempoolId_t{0, 0};
  for_each_stream([&](stream_cache& part) {
    part.for_each_arena([&](const arena& from) {
      const bool is_meant =
          common ? from.pool->id == pool || from.pool->uses == 0 : from.pool->id == pool;
      if (!is_meant) return;
      from.cached.for_each([&](block* cached) {
        // A block without neighbours is a whole segment.
        if (!cached->is_split()) stream_cache::take_out(list, cached);
      });
    });
  });
  return list;
}

block* device_cache::take_oldest(size_t bytes) noexcept {
  lock_of_all lock(*this);
  lock.merge_recent();
  block* list = nullptr;
  // Looks at all free blocks for each segment that it takes. That is slow, but it comes before a
  // call of the runtime that is slower.
  for (size_t taken = 0; taken < bytes;) {
    block* oldest = nullptr;
    for_each_stream([&](stream_cache& part) {
      part.for_each_arena([&](const arena& from) {
        // Memory of a private pool may be a graph's, which replays use at any time.
        if (from.pool != &shared_.pools.common()) return;
        from.cached.for_each([&](block* cached) {
          if (cached->is_split() || (oldest != nullptr && oldest->cached_at <= cached->cached_at))
            return;
          oldest = cached;
        });
      });
    });
    if (oldest == nullptr) break;
    taken += oldest->size;
    stream_cache::take_out(list, oldest);
  }
  return list;
}

void device_cache::keep_cached(block* list) noexcept {
  lock_of_all lock(*this);
  while (list != nullptr) stream_cache::put_in(std::exchange(list, list->next));
}

void device_cache::forget(block* gone) noexcept {
  stream_cache& part = *gone->keeper;
  const size_t size = gone->size;
  if (gone->is_adopted) {
    stream_lock lock(*this, part);
    part.forget(gone);
    adopted_.fetch_sub(size, std::memory_order_relaxed);
    return;
  }
  memory_pool* pool = nullptr;
  {
    // A segment's end concerns its pool and the device's totals, which the device's mutex guards.
    stream_lock lock(*this, part, /*device_too=*/true);
    pool = gone->home->pool;
    stats_.remove_segment_of(pool->id, size, is_small(*gone));
    stats_.count_device_free();
    reserved_.fetch_sub(size, std::memory_order_relaxed);
    part.forget(gone);
  }
  // All locks, since removing a pool removes its arenas on every stream.
  if (pool == &shared_.pools.common()) return;
  lock_of_all lock(*this);
  // Not earlier: another thread that saw the last segment gone would remove the pool.
  --pool->segments;
  drop_pool_if_unused(*pool);
}

// ---- pools

void device_cache::begin_pool_use(c10::MempoolId_t pool) {
  std::lock_guard<std::mutex> lock(mutex_);
  ++shared_.pools.find_or_make(pool).uses;
}

void device_cache::set_pool_options(c10::MempoolId_t pool, bool use_on_oom, bool no_split) {
  // All locks, since streams read `no_split` under their own.
  lock_of_all lock(*this);
  memory_pool& chosen = shared_.pools.find_or_make(pool);
  chosen.use_on_oom = use_on_oom;
  chosen.no_split = no_split;
}

void device_cache::end_pool_use(c10::MempoolId_t pool) noexcept {
  lock_of_all lock(*this);
  memory_pool* const used = shared_.pools.find(pool);
  if (used == nullptr || used->uses == 0) return;
  --used->uses;
  drop_pool_if_unused(*used);
}

int device_cache::pool_uses(c10::MempoolId_t pool) {
  std::lock_guard<std::mutex> lock(mutex_);
  const memory_pool* const used = shared_.pools.find(pool);
  return used == nullptr ? 0 : used->uses;
}

// Call it with all locks held: streams may still have arenas of the pool, which are empty.
void device_cache::drop_pool_if_unused(memory_pool& pool) noexcept {
  if (&pool == &shared_.pools.common() || pool.uses != 0 || pool.segments != 0) return;
  const c10::MempoolId_t id = pool.id;
  for_each_stream([id](stream_cache& part) { part.remove_pool(id); });
  shared_.pools.remove(id);
}

// ---- what is there

// Takes no lock: the sum is for reports, and the profiler asks on every allocation.
size_t device_cache::allocated() const noexcept {
  size_t sum = 0;
  for_each_stream([&sum](const stream_cache& part) { sum += part.allocated(); });
  return sum;
}

size_t device_cache::largest_free() {
  lock_of_all lock(*this);
  lock.merge_recent();
  size_t most = 0;
  for_each_stream([&most](stream_cache& part) {
    part.for_each_arena(
        [&most](const arena& from) { most = std::max(most, from.cached.largest()); });
  });
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
  history& recorded = shared_.recorded;
  if (!recorded.enabled()) return;
  // In an OOM entry the address is the number of free bytes: torch's TraceEntry says so.
  recorded.add(trace_entry::OOM, shared_.device, free, requested, stream, {0, 0},
               std::move(context));
}

device_stats device_cache::stats() {
  // Recent blocks are merged, so that inactive_split counts what a fully merged cache would have.
  lock_of_all lock(*this);
  lock.merge_recent();
  device_stats all = stats_.counts(shares_);
  all.max_split_size = static_cast<int64_t>(max_split_size());
  return all;
}

void device_cache::reset_accumulated() {
  lock_of_all lock(*this);
  lock.merge_recent();
  stats_.reset_accumulated(shares_);
}

void device_cache::reset_peak() {
  lock_of_all lock(*this);
  lock.merge_recent();
  stats_.reset_peak(shares_);
}

void device_cache::configure_history(const history_settings& settings) {
  // All locks, since everybody asks `enabled` under its own.
  lock_of_all lock(*this);
  shared_.recorded.configure(settings);
}

void device_cache::set_metadata(const std::string& text) {
  std::lock_guard<std::mutex> lock(mutex_);
  shared_.recorded.set_metadata(text);
}

std::vector<segment_info> device_cache::segments(c10::MempoolId_t pool) {
  std::vector<segment_info> all;
  const auto describe = [&](const block& first) {
    const c10::MempoolId_t its_pool = pool_of(first);
    if (pool != c10::MempoolId_t{0, 0} && its_pool != pool) return;
    segment_info& segment = all.emplace_back();
    segment.device = shared_.device;
    segment.address = reinterpret_cast<size_t>(first.data);
    // torch's field is a pointer, for the stream's address. Here it holds the stream's number.
    segment.stream = reinterpret_cast<void*>(first.stream);  // NOLINT(performance-no-int-to-ptr)
    segment.is_large = !is_small(first);
    segment.owner_private_pool_id = its_pool;
    segment.context_when_allocated = first.context;
    for (const block* part = &first; part != nullptr; part = part->after) {
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
  };
  {
    lock_of_all lock(*this);
    lock.merge_recent();
    for_each_stream([&](const stream_cache& part) { part.for_each_segment(describe); });
  }
  std::sort(all.begin(), all.end(),
            [](const segment_info& a, const segment_info& b) { return a.address < b.address; });
  return all;
}

std::vector<trace_entry> device_cache::trace(std::shared_ptr<c10::GatheredContext> context) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (shared_.recorded.enabled()) {
    shared_.recorded.add(trace_entry::SNAPSHOT, shared_.device, 0, 0, 0, {0, 0},
                         std::move(context));
  }
  return shared_.recorded.entries();
}

}  // namespace outback::core
