#include "backend_template/core/memory/device_allocator.h"

#include <c10/core/AllocatorConfig.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <utility>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/arena.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/core/memory/allocator/freeing.h"
#include "backend_template/core/memory/allocator/memory_limit.h"
#include "backend_template/core/memory/allocator/out_of_memory.h"
#include "backend_template/core/memory/allocator/routing.h"
#include "backend_template/core/memory/allocator/size_policy.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/runtime_memory.h"
#include "backend_template/core/memory/shared_memory.h"
#include "backend_template/core/memory/twin_memory.h"
#include "backend_template/core/races/race_finder.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/streams/twin_stream.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
namespace {

using c10::CachingDeviceAllocator::RecordContext;
using request = device_cache::request;

// Returns the bytes that the process may still take. Adopted memory counts against the device's
// size, although the runtime did not allocate it: the device uses it as its own.
size_t room(c10::DeviceIndex device, const device_cache& cache) {
  const size_t taken = cache.taken();
  const size_t limit = memory_limit(device);
  return limit > taken ? limit - taken : 0;
}

// What one mem_alloc may have, in bytes of which a block can have as many.
size_t largest_allocation(c10::DeviceIndex device) {
  return device_info(device).max_alloc_size / smallest_block * smallest_block;
}

outback_status allocate_raw(c10::DeviceIndex device, const device_cache& cache, size_t size,
                            void** data) {
  if (size > room(device, cache)) return OUTBACK_OUT_OF_MEMORY;
  return allocate_device_memory(device, size, data);
}

// Implements the key garbage_collection_threshold of PYTORCH_ALLOC_CONF: memory that was not used
// for long goes back to the runtime before the device is full.
void collect_beyond_threshold(c10::DeviceIndex device, device_cache& cache, size_t size) {
  const double threshold =
      c10::CachingAllocator::AcceleratorAllocatorConfig::garbage_collection_threshold();
  if (C10_LIKELY(threshold <= 0)) return;
  const auto allowed = static_cast<size_t>(threshold * static_cast<double>(memory_limit(device)));
  const size_t wanted = cache.taken() + size;
  if (wanted > allowed) collect_garbage(cache, device, wanted - allowed);
}

// Frees what can be freed before a request of `size` bytes fails, and says what it did.
cache_fate make_room(c10::DeviceIndex device, device_cache& cache, size_t size) {
  if (size > device_info(device).memory_size) return cache_fate::kept_as_useless;
  if (any_capture(device)) return cache_fate::kept_for_capture;  // nobody may wait for the device
  // In this order: what other processes are done with becomes free or pending, pending blocks
  // return to the cache, and the cache to the runtime.
  cache.count_retry();
  collect_exports();
  process_pending(cache, /*wait=*/true);
  empty_cache(cache, device, {0, 0});
  // Other threads may hold memory that they are giving back.
  cache.in_transit().wait();
  return cache_fate::emptied;
}

// Makes room until `attempt` answers true, or in vain. While this thread waits, others may take
// what it waits for and leave what they free then: there is another round as long as they do so.
template <class Attempt>
cache_fate make_room_and_retry(c10::DeviceIndex device, device_cache& cache, size_t size,
                               Attempt attempt) {
  constexpr int most_rounds = 64;
  for (int round = 1;; ++round) {
    const uint64_t waited_for = cache.newest_pending();
    const cache_fate fate = make_room(device, cache, size);
    if (attempt() || fate != cache_fate::emptied || round == most_rounds) return fate;
    if (cache.newest_pending() == waited_for) return fate;
  }
}

// Serves a request that the cache could not serve. The steps, until one succeeds: pending blocks
// that are free by now; a segment of the size policy; one of just this request; the same after the
// cache was emptied; one without the rounding of the size; the pools that serve before memory runs
// out.
block* allocate_segment(c10::DeviceIndex device, device_cache& cache, request wanted) {
  const size_t most = largest_allocation(device);
  if (wanted.requested > most) {
    const bool fits = wanted.requested <= device_info(device).memory_size;
    throw_out_of_memory(device, wanted.requested, wanted.stream, cache,
                        fits ? cache_fate::kept_as_refused : cache_fate::kept_as_useless, "");
  }
  wanted.size = std::min(wanted.size, most);  // the rounding may have gone beyond it
  if (C10_UNLIKELY(cache.any_pending())) {
    process_pending(cache, /*wait=*/false);
    block* const found = wanted.bypasses_cache ? nullptr : cache.take(wanted);
    if (found != nullptr) return found;
  }
  collect_beyond_threshold(device, cache, wanted.size);
  size_t size = wanted.bypasses_cache ? wanted.size : segment_size(wanted.size, most);
  void* data = nullptr;
  const auto try_with = [&](size_t bytes) {
    size = bytes;
    return allocate_raw(device, cache, bytes, &data);
  };
  outback_status status = try_with(size);
  if (status == OUTBACK_OUT_OF_MEMORY && size > wanted.size) status = try_with(wanted.size);
  request served = wanted;
  cache_fate fate = cache_fate::emptied;
  if (status == OUTBACK_OUT_OF_MEMORY) {
    block* found = nullptr;
    fate = make_room_and_retry(device, cache, wanted.requested, [&] {
      // A block that was pending may have merged with others in a segment that is still in use:
      // then it did not go back to the runtime, and may fit.
      if (!wanted.bypasses_cache) found = cache.take(wanted);
      if (found != nullptr) return true;
      served.size = wanted.size;
      status = try_with(wanted.size);
      const size_t exact =
          (wanted.requested + smallest_block - 1) / smallest_block * smallest_block;
      if (status == OUTBACK_OUT_OF_MEMORY && exact < wanted.size) {
        status = try_with(exact);
        served.size = exact;
      }
      if (status == OUTBACK_OUT_OF_MEMORY) found = cache.take_from_reserves(wanted);
      return found != nullptr || status != OUTBACK_OUT_OF_MEMORY;
    });
    if (found != nullptr) return found;
  }
  if (status == OUTBACK_OUT_OF_MEMORY) {
    // If the limit of this process refused the request, the runtime was not asked and has no text.
    const bool refused_here = size > room(device, cache);
    throw_out_of_memory(device, wanted.requested, wanted.stream, cache, fate,
                        refused_here ? "" : runtime().last_error(runtime().self));
  }
  check(status, "mem_alloc", device, static_cast<int64_t>(size));
  return cache.add_segment(data, size, served);
}

// Allocates on `device`, a valid index, after the backend has started. This is the hot path: most
// requests are served by the cache, under its lock and without a slot.
c10::DataPtr allocate_there(c10::DeviceIndex device, size_t size) {
  const c10::Device where(device_type, device);
  if (const auto twin = twin_of(device)) return allocate_twin_memory(*twin, size, where);
  if (size == 0) return c10::DataPtr(nullptr, nullptr, &free_block, where);
  device_cache& cache = cache_of(device);
  // Now and then also if the cache may serve: otherwise pending blocks would stay away until memory
  // runs out.
  if (C10_UNLIKELY(cache.should_ask())) process_pending(cache, /*wait=*/false);
  const c10::StreamId stream = current_stream_id(device);
  if (size > largest_request) {
    throw_out_of_memory(device, size, stream, cache, cache_fate::kept_as_useless, "");
  }
  const request wanted{.requested = size,
                       .size = rounded_size(size, cache.granule()),
                       .stream = stream,
                       .pool = pool_for(device),
                       // A capture needs the cache: its memory stays where it is.
                       .bypasses_cache = !is_caching_enabled() && !any_capture(device),
                       .context = gather_context(RecordContext::STATE)};
  block* found = C10_LIKELY(!wanted.bypasses_cache) ? cache.take(wanted) : nullptr;
  if (found == nullptr) found = allocate_segment(device, cache, wanted);
  if (race_finder* const finder = active_race_finder()) {
    finder->allocated(current_stream(device));
  }
  report_to_profiler(cache, device, found->data, static_cast<int64_t>(found->size));
  return c10::DataPtr(found->data, found, &free_block, where);
}

// A device as the allocator that has its memory knows it.
struct place {
  c10::DeviceAllocator& allocator;
  c10::DeviceIndex index;
};

// The twin's allocator, or nothing for a device whose memory is ours. Starts nothing.
std::optional<place> twins_place(c10::DeviceIndex index) {
  const auto twin = started_twin_of(index);
  if (!twin) return std::nullopt;
  return place{*c10::getDeviceAllocator(twin->type()), twin->index()};
}

class allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    ensure_started();
    return allocate_there(current_device(), size);
  }

  // c10's copy-on-write and Allocator::clone call it. They name no device and mean the current one.
  void copy_data(void* dst, const void* src, size_t size) const override {
    const c10::Device device(device_type, current_device());
    copy_bytes(dst, device, src, device, size, /*non_blocking=*/true);
  }

  bool initialized() override { return is_started(); }

  void emptyCache(c10::MempoolId_t pool) override {
    if (!is_started()) return;
    const bool of_everybody = pool == c10::MempoolId_t{0, 0};
    if (of_everybody && any_capture(current_device())) {
      refuse_in_capture(nullptr, "memory cannot be given back while a graph is captured");
    }
    // A lost device must not keep the others from giving back their memory: the first error is
    // thrown at the end.
    std::exception_ptr first;
    const auto keep_first = [&first](auto step) {
      try {
        step();
      } catch (...) {
        if (first == nullptr) first = std::current_exception();
      }
    };
    for (c10::DeviceIndex device = 0; device < device_count(); ++device) {
      device_cache* const cache = cache_if_used(device);
      // Nobody may wait for a device that is captured. Its memory goes with a later call.
      if (cache == nullptr || any_capture(device)) continue;
      keep_first([&] { process_pending(*cache, /*wait=*/true); });
      keep_first([&] { empty_cache(*cache, device, pool); });
    }
    if (const auto twin = known_twin_type()) {
      keep_first([&] { c10::getDeviceAllocator(*twin)->emptyCache(pool); });
    }
    if (first != nullptr) std::rethrow_exception(first);
  }

  void recordStream(const c10::DataPtr& memory, c10::Stream stream) override {
    if (record_twins_stream(memory, twins_stream(stream).value_or(stream))) return;
    // Memory that this allocator does not own, and empty storages, have no block to note it in.
    if (memory.get_deleter() != &free_block || memory.get_context() == nullptr) return;
    auto* used = static_cast<block*>(memory.get_context());
    // The block's own stream may use it without a note.
    if (stream.device_index() == used->device && stream.id() == used->stream) return;
    TORCH_CHECK(stream.device_type() == device_type && stream.device_index() == used->device,
                "record_stream: ", stream, " is not a stream of ",
                c10::Device(device_type, used->device), ", where the memory is");
    cache_of(used->device).record(used, stream.id());
    if (race_finder* const finder = active_race_finder()) finder->keep_for(used->data, stream);
  }

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    const c10::DeviceIndex index = resolve_index(device);
    if (const auto twins = twins_place(index)) return twins->allocator.getDeviceStats(twins->index);
    return cache_of(index).stats();
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    const c10::DeviceIndex index = resolve_index(device);
    if (const auto twins = twins_place(index)) {
      return twins->allocator.resetAccumulatedStats(twins->index);
    }
    cache_of(index).reset_accumulated();
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    const c10::DeviceIndex index = resolve_index(device);
    if (const auto twins = twins_place(index)) return twins->allocator.resetPeakStats(twins->index);
    cache_of(index).reset_peak();
  }

  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    const c10::DeviceIndex index = resolve_index(device);
    if (const auto twins = twins_place(index)) return twins->allocator.getMemoryInfo(twins->index);
    const device_cache& cache = cache_of(index);
    // The runtime counts what it allocated itself. It knows nothing of adopted memory.
    size_t total = device_info(index).memory_size;
    size_t taken = cache.adopted();
    size_t free = total;
    if (runtime().device_state != nullptr) {
      constexpr const char* slot = "device_state.memory_usage";
      constexpr size_t unwritten = std::numeric_limits<size_t>::max();
      free = total = unwritten;
      check(runtime().device_state->memory_usage(runtime().self, index, &free, &total), slot,
            index);
      check_written(free, unwritten, "free", slot, index);
      check_written(total, unwritten, "total", slot, index);
      if (free > total) {
        blame(core::format("made *free {} and *total {}: expected no more free than there is", free,
                           total),
              slot, index);
      }
    } else {
      // Without the slot, this process's own memory is all that is known to be taken.
      taken += cache.reserved();
    }
    return {free > taken ? free - taken : 0, total};
  }
};

}  // namespace

c10::DeviceAllocator& device_allocator() {
  static auto& implementation = *new allocator;
  return implementation;
}

c10::DataPtr allocate_on(c10::DeviceIndex device, size_t size) {
  ensure_started();
  check_index(device);
  return allocate_there(device, size);
}

c10::DataPtr adopt(c10::DataPtr&& memory, size_t size, c10::DeviceIndex device) {
  const c10::Device where(device_type, device);
  if (memory.get() == nullptr) return c10::DataPtr(nullptr, nullptr, &free_block, where);
  if (const auto twin = twin_of(device)) {
    c10::DataPtr copy = allocate_twin_memory(*twin, size, where);
    copy_bytes(copy.get(), where, memory.get(), c10::kCPU, size, /*non_blocking=*/false);
    return copy;
  }
  if (const auto open = any_capture(device) ? capture_of(current_stream(device)) : nullptr) {
    refuse_in_capture(open.get(), "an operator made its result on the host, which no replay would");
  }
  device_cache& cache = cache_of(device);
  if (C10_UNLIKELY(cache.should_ask())) process_pending(cache, /*wait=*/false);
  const c10::StreamId stream = current_stream_id(device);
  const std::shared_ptr<c10::GatheredContext> who = gather_context(RecordContext::STATE);
  block* made = nullptr;
  const auto take_over = [&] {
    made = cache.add_adopted(std::move(memory), size, memory_limit(device), stream, who);
    return made != nullptr;
  };
  if (C10_UNLIKELY(!take_over())) {
    const cache_fate fate = make_room_and_retry(device, cache, size, take_over);
    if (made == nullptr) throw_out_of_memory(device, size, stream, cache, fate, "");
  }
  if (race_finder* const finder = active_race_finder()) {
    finder->allocated(current_stream(device));
  }
  report_to_profiler(cache, device, made->data, static_cast<int64_t>(size));
  return c10::DataPtr(made->data, made, &free_block, where);
}

bool is_of_pool(const c10::DataPtr& memory, c10::MempoolId_t pool) noexcept {
  if (memory.get_deleter() != &free_block || memory.get_context() == nullptr) return false;
  const auto* const used = static_cast<const block*>(memory.get_context());
  return used->home != nullptr && used->home->pool->id == pool;
}

std::optional<allocation> allocation_of(const c10::DataPtr& memory) {
  if (memory.get_deleter() != &free_block || memory.get_context() == nullptr) return std::nullopt;
  const auto& used = *static_cast<const block*>(memory.get_context());
  if (used.is_adopted) return allocation{nullptr, used.foreign.get_deleter()};
  return allocation{cache_of(used.device).segment_of(used), nullptr};
}

c10::DataPtr share_memory(const c10::DataPtr& memory, c10::Device device) {
  if (c10::DataPtr shared = share_twin_memory(memory, device)) return shared;
  if (memory.get_deleter() != &free_block || memory.get_context() == nullptr) return {};
  auto* const shared = static_cast<block*>(memory.get_context());
  shared->owners.fetch_add(1, std::memory_order_relaxed);
  return c10::DataPtr(memory.get(), shared, &free_block, device);
}

}  // namespace outback::core
