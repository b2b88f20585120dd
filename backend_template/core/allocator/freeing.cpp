#include "backend_template/core/allocator/freeing.h"

#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>

#include <exception>
#include <utility>
#include <vector>

#include "backend_template/core/allocator/caches.h"
#include "backend_template/core/allocator/capture_pools.h"
#include "backend_template/core/capture.h"
#include "backend_template/core/device.h"
#include "backend_template/core/lazy_start.h"
#include "backend_template/core/runtime.h"
#include "backend_template/core/runtime_memory.h"
#include "backend_template/core/stream.h"

namespace outback::core {
namespace {

using c10::CachingDeviceAllocator::RecordContext;

c10::Stream stream_on(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(device_type, device), id);
}

// Gives the memory of a block that no list holds back to where it came from.
void release(device_cache& cache, block* gone) noexcept {
  if (gone->is_adopted) {
    const c10::DataPtr owner = std::move(gone->foreign);
  } else {
    const outback_status status = free_device_memory(gone->device, gone->data);
    if (status != OUTBACK_OK) {
      TORCH_WARN(failure_text(status, "mem_free", gone->device, static_cast<int64_t>(gone->size)));
    }
  }
  cache.forget(gone);
}

void release_all(device_cache& cache, block* list) noexcept {
  while (list != nullptr) {
    block* const next = std::exchange(list->next, nullptr);
    release(cache, list);
    list = next;
  }
}

void finish(device_cache& cache, block* freed,
            std::shared_ptr<c10::GatheredContext> context) noexcept {
  if (!cache.put_back(freed, std::move(context))) release(cache, freed);
}

bool is_over(const pending_block& waiting, bool wait) {
  bool over = true;
  for (const event& use : waiting.uses) {
    if (wait) use.synchronize();
    over = over && (wait || use.query());
  }
  return over;
}

// The block waits for its streams: those whose work may still touch it.
void wait_for_uses(device_cache& cache, block* freed, bool own_stream_too) noexcept {
  const c10::DeviceIndex device = freed->device;
  const size_t size = freed->size;
  try {
    pending_block waiting{freed, {}};
    const auto wait_for = [&waiting](const c10::Stream& stream) {
      waiting.uses.emplace_back();
      waiting.uses.back().record(stream);
    };
    // Nobody can add to them: this was the last owner.
    for (const c10::StreamId id : freed->also_used_on) wait_for(stream_on(device, id));
    if (own_stream_too) wait_for(stream_on(device, freed->stream));
    cache.put_pending(std::move(waiting));
  } catch (const c10::Error& e) {
    // The device is lost: nobody knows when its work ends, so the memory stays where it is.
    TORCH_WARN(backend_name(), ": ", size,
               " bytes leak, since an event failed: ", e.what_without_backtrace());
  } catch (const std::exception& e) {
    TORCH_WARN(backend_name(), ": ", size, " bytes leak: ", e.what());
  }
}

// At the moment of a block's death.
void free_when_over(device_cache& cache, block* freed, bool own_stream_too,
                    std::shared_ptr<c10::GatheredContext> context) noexcept {
  cache.give_up(freed, std::move(context));
  if (!defer_in_capture(freed, own_stream_too)) wait_for_uses(cache, freed, own_stream_too);
}

// Cached memory may still be in use by its own stream.
void release_when_idle(device_cache& cache, c10::DeviceIndex device, block* list) {
  if (list == nullptr) return;
  std::exception_ptr failed;
  try {
    synchronize_device(device);
  } catch (...) {  // the device is lost, and its work with it
    failed = std::current_exception();
  }
  release_all(cache, list);
  if (failed != nullptr) std::rethrow_exception(failed);
}

}  // namespace

void report_to_profiler(const device_cache& cache, c10::DeviceIndex device, void* data,
                        int64_t change) {
  if (C10_LIKELY(!c10::memoryProfilingEnabled())) return;
  c10::reportMemoryUsageToProfiler(data, change, cache.allocated(),
                                   cache.reserved() + cache.adopted(),
                                   c10::Device(device_type, device));
}

void process_pending(device_cache& cache, bool wait) {
  // No driver lets a host that captures ask for events.
  if (C10_LIKELY(!cache.has_pending()) || any_capture()) return;
  std::vector<pending_block> all = cache.take_pending();
  auto next = all.begin();
  const auto keep_the_rest = c10::make_scope_exit([&] {
    for (; next != all.end(); ++next) cache.put_pending(std::move(*next));
  });
  while (next != all.end()) {
    const bool over = is_over(*next, wait);
    pending_block waiting = std::move(*next++);
    if (over) {
      finish(cache, waiting.freed, nullptr);
    } else {
      cache.put_pending(std::move(waiting));
    }
  }
}

void free_block(void* context) noexcept {
  auto* freed = static_cast<block*>(context);
  // A forked child has neither the runtime's threads nor a usable mutex: the parent's memory is not
  // its to free.
  if (is_in_bad_fork()) return;
  device_cache& cache = cache_of(freed->device);
  const c10::DeviceIndex device = freed->device;
  void* const data = freed->data;
  const auto size = static_cast<int64_t>(freed->size);
  std::shared_ptr<c10::GatheredContext> who = gather_context(RecordContext::ALL);
  // The cache hands a block to work on its own stream again, in order. Memory that leaves must be
  // idle.
  const bool leaves = freed->is_adopted || freed->bypasses_cache;
  const bool own_pending = leaves && !is_idle(stream_on(device, freed->stream));
  if (C10_LIKELY(freed->also_used_on.empty() && !own_pending)) {
    finish(cache, freed, std::move(who));
  } else {
    free_when_over(cache, freed, own_pending, std::move(who));
  }
  report_to_profiler(cache, device, data, -size);
}

void free_deferred() noexcept {
  for (const deferred_block& it : take_deferred()) {
    wait_for_uses(cache_of(it.freed->device), it.freed, it.own_stream_too);
  }
}

void empty_cache(device_cache& cache, c10::DeviceIndex device, c10::MempoolId_t pool) {
  release_when_idle(cache, device, cache.take_cached(pool));
}

void collect_garbage(device_cache& cache, c10::DeviceIndex device, size_t bytes) {
  if (any_capture()) return;  // nobody may wait for the device
  release_when_idle(cache, device, cache.take_oldest(bytes));
}

}  // namespace outback::core
