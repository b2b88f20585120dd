#include "backend_template/core/memory/allocator/freeing.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <utility>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/host_failure.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/core/memory/runtime_memory.h"
#include "backend_template/core/races/race_finder.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"

namespace outback::core {
namespace {

using c10::CachingDeviceAllocator::RecordContext;

std::atomic<void (*)(c10::DeviceIndex)> wait_for_launches{nullptr};

c10::Stream stream_on(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(device_type, device), id);
}

// Gives the memory of a block that is in no list back to where it came from, and forgets the block.
// Adopted memory is returned: it is freed when the caller drops the result, by a deleter that may
// take locks.
c10::DataPtr release(device_cache& cache, block* gone) noexcept {
  c10::DataPtr owner;
  if (gone->is_adopted) {
    owner = std::move(gone->foreign);
  } else {
    warn_of(free_device_memory(gone->device, gone->data), "mem_free", gone->device,
            static_cast<int64_t>(gone->size));
  }
  cache.forget(gone);
  return owner;
}

void release_all(device_cache& cache, block* list) noexcept {
  while (list != nullptr) {
    block* const next = std::exchange(list->next, nullptr);
    release(cache, list);
    list = next;
  }
}

// Returns true if the use is over, after waiting for it if `wait` is true.
bool is_over(const event& use, bool wait) {
  if (!wait) return use.query();
  use.synchronize();
  return true;
}

void end_use(device_cache& cache, pending_use* over, size_t queue) noexcept {
  // Declared first, so that it dies last, after the transit has ended: its deleter may want
  // Python's GIL, while the thread that holds the GIL waits for transits.
  c10::DataPtr owner;
  const memory_in_transit::one on_its_way(cache.in_transit());
  if (block* const leaving = cache.end(over, queue)) owner = release(cache, leaving);
}

void record_uses(device_cache& cache, const block& freed, bool own_stream_too,
                 pending_uses::uses& uses) {
  const auto record = [&](c10::StreamId stream) {
    uses.emplace_back(stream, cache.make_use());
    uses.back().second->over.record(stream_on(freed.device, stream));
  };
  // Read without a lock: the block has no owner any more, so record_stream cannot add a stream.
  for (const c10::StreamId stream : freed.also_used_on) record(stream);
  if (own_stream_too) record(freed.stream);
}

// Lets the block wait for the streams whose work may still touch it: those of record_stream, and
// its own if `own_stream_too`. While a stream of the device is captured, it waits for the capture's
// end first.
void wait_for_uses(device_cache& cache, block* freed, bool own_stream_too) noexcept {
  const c10::DeviceIndex device = freed->device;
  const size_t size = freed->size;
  try {
    for (;;) {
      const uint64_t captures = captures_so_far(device);
      const auto later = [freed, own_stream_too] {
        wait_for_uses(cache_of(freed->device), freed, own_stream_too);
      };
      if (any_capture(device) && defer_past_captures(device, later)) return;
      pending_uses::uses uses;
      record_uses(cache, *freed, own_stream_too, uses);
      // A capture may have begun after defer_past_captures looked. Events that it recorded would
      // never be over, so try once more: then the block is deferred.
      if (captures_so_far(device) != captures) continue;
      return cache.wait_for(freed, std::move(uses));
    }
  } catch (...) {
    // Mostly the device is lost. Nobody knows when its work ends, so the memory is never freed. A
    // deleter must not throw, hence the warning.
    warn(backend_name(), ": ", size, " bytes leak, since an event failed: ", handled_text());
  }
}

// Frees a block that streams still use, at the moment when its owner is done with it.
void free_when_over(device_cache& cache, block* freed, bool own_stream_too,
                    const std::shared_ptr<c10::GatheredContext>& context) noexcept {
  const memory_in_transit::one on_its_way(cache.in_transit());
  cache.give_up(freed, context);
  wait_for_uses(cache, freed, own_stream_too);
}

// True if the stream's work is done, so that its memory can leave the allocator. A failure that the
// runtime tells once is kept for the next call that waits, since a deleter cannot throw.
bool is_done_with(const block& freed) noexcept {
  const c10::Stream stream = stream_on(freed.device, freed.stream);
  try {
    return is_done(stream);
  } catch (...) {
    report_handled(freed.device, "work failed that memory was freed behind");
    return false;
  }
}

bool is_last_owner(block& freed) noexcept {
  // Most memory has one owner: then a load is enough.
  if (C10_LIKELY(freed.owners.load(std::memory_order_acquire) == 1)) return true;
  if (freed.owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  freed.owners.store(1, std::memory_order_relaxed);
  return true;
}

// Calls `visit` with the other devices whose memory was used.
template <class Visit>
void for_each_other_device(c10::DeviceIndex device, Visit visit) {
  for (c10::DeviceIndex other = 0; other < device_count(); ++other) {
    if (other != device && cache_if_used(other) != nullptr) visit(other);
  }
}

// Waits for the work that may use the segments. A graph may be launched on another device than a
// part of its memory is on, so with `of_graphs` all devices are waited for if a segment was of a
// private pool.
void wait_for_users(c10::DeviceIndex device, const block* list, bool of_graphs) {
  synchronize_device(device);
  if (!of_graphs) return;
  while (list != nullptr && pool_of(*list) == common_pool) list = list->next;
  if (list != nullptr) for_each_other_device(device, &synchronize_device);
}

// Gives segments back that were taken out of the cache. Cached memory may still be in use by work
// on its own stream, so that work is waited for first.
void release_when_idle(device_cache& cache, c10::DeviceIndex device, block* list, bool of_graphs) {
  if (list == nullptr) return;
  std::exception_ptr failed;
  try {
    wait_for_users(device, list, of_graphs);
  } catch (...) {
    // If a capture has begun meanwhile, it is the capture that refuses the wait, and the memory may
    // be in use. Otherwise the device is lost, and its work with it, so the memory can go.
    if (any_capture(device)) {
      cache.keep_cached(list);
      throw;
    }
    failed = std::current_exception();
  }
  release_all(cache, list);
  if (failed != nullptr) std::rethrow_exception(failed);
}

}  // namespace

void report_to_profiler(const device_cache& cache, c10::DeviceIndex device, void* data,
                        int64_t change) {
  if (C10_LIKELY(!c10::memoryProfilingEnabled())) return;
  c10::reportMemoryUsageToProfiler(data, change, cache.allocated(), cache.taken(),
                                   c10::Device(device_type, device));
}

void set_wait_for_launches(void (*wait)(c10::DeviceIndex)) noexcept {
  wait_for_launches.store(wait, std::memory_order_release);
}

void process_pending(device_cache& cache, bool wait) {
  // As in torch.cuda's allocator, no event is queried during a capture: to query one that was
  // recorded in the capture is an error.
  if (any_capture(cache.device())) return;
  if (wait) {
    if (auto* const launches = wait_for_launches.load(std::memory_order_acquire)) {
      launches(cache.device());
    }
    // What other threads hold may be about to become pending.
    cache.in_transit().wait();
  }
  // Only what is pending now: other threads may go on freeing, and this loop would never end.
  const uint64_t newest = cache.newest_pending();
  size_t queue = 0;
  bool in_vain = true;
  while (pending_use* const first = cache.ask(queue, newest)) {
    bool over = false;
    try {
      over = is_over(first->over, wait);
    } catch (...) {
      cache.leave(first);
      throw;
    }
    if (over) {
      in_vain = false;
      end_use(cache, first, queue);
    } else {
      // What is behind it on this stream cannot be over either.
      cache.leave(first);
      ++queue;
    }
  }
  if (in_vain) cache.asked_in_vain();
  // Another thread may have found some of the uses over, and be about to free their blocks.
  if (wait) cache.in_transit().wait();
}

void free_block(void* context) noexcept {
  auto* freed = static_cast<block*>(context);
  // A forked child must not free the parent's memory. It has neither the runtime's threads nor a
  // mutex that is sure to be free.
  if (is_in_bad_fork() || !is_last_owner(*freed)) return;
  // Read all that is needed later: afterwards the block may be another owner's.
  device_cache& cache = cache_of(freed->device);
  const c10::DeviceIndex device = freed->device;
  void* const data = freed->data;
  const auto size = static_cast<int64_t>(freed->size);
  const std::shared_ptr<c10::GatheredContext> who = gather_context(RecordContext::ALL);
  if (race_finder* const finder = active_race_finder()) {
    finder->freed(data, stream_on(device, freed->stream));
  }
  // A block that stays in the cache serves its own stream again, whose work is in order, so it need
  // not wait for that stream. Memory that leaves the allocator must not be in use by any stream.
  const bool leaves = freed->is_adopted || freed->bypasses_cache;
  const bool own_pending = leaves && !is_done_with(*freed);
  if (C10_LIKELY(freed->also_used_on.empty() && !own_pending)) {
    if (C10_UNLIKELY(!cache.put_back(freed, who))) release(cache, freed);
  } else {
    free_when_over(cache, freed, own_pending, who);
  }
  report_to_profiler(cache, device, data, -size);
}

void empty_cache(device_cache& cache, c10::DeviceIndex device, c10::MempoolId_t pool) {
  if (pool == common_pool) cache.drop_spare_uses();
  // Nobody may wait for a device that is captured: what graphs have left goes with a later call.
  bool of_graphs = pool == common_pool;
  for_each_other_device(
      device, [&](c10::DeviceIndex other) { of_graphs = of_graphs && !any_capture(other); });
  const memory_in_transit::one on_its_way(cache.in_transit());
  release_when_idle(cache, device, cache.take_cached(pool, of_graphs), of_graphs);
}

void collect_garbage(device_cache& cache, c10::DeviceIndex device, size_t bytes) {
  if (any_capture(device)) return;  // nobody may wait for the device
  const memory_in_transit::one on_its_way(cache.in_transit());
  release_when_idle(cache, device, cache.take_oldest(bytes), /*of_graphs=*/false);
}

}  // namespace outback::core
