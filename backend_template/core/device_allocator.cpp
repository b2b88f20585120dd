#include "backend_template/core/device_allocator.h"

#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>

#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "backend_template/core/allocator/device_cache.h"
#include "backend_template/core/allocator/out_of_memory.h"
#include "backend_template/core/copy.h"
#include "backend_template/core/lazy_start.h"
#include "backend_template/core/runtime.h"
#include "backend_template/core/stream.h"

namespace outback::core {
namespace {

device_cache& cache_of(c10::DeviceIndex device) {
  static auto& all = *new std::array<std::atomic<device_cache*>, max_devices>{};
  auto& slot = all[device];
  device_cache* it = slot.load(std::memory_order_acquire);
  if (C10_LIKELY(it != nullptr)) return *it;
  auto made = std::make_unique<device_cache>(device);
  if (slot.compare_exchange_strong(it, made.get(), std::memory_order_acq_rel)) it = made.release();
  return *it;
}

c10::Stream stream_on(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(device_type, device), id);
}

void report(const block& b, bool allocated) {
  if (C10_LIKELY(!c10::memoryProfilingEnabled())) return;
  const device_cache& cache = cache_of(b.device);
  const auto size = static_cast<int64_t>(b.size);
  c10::reportMemoryUsageToProfiler(b.data, allocated ? size : -size, cache.allocated(),
                                   cache.reserved() + cache.adopted(),
                                   c10::Device(device_type, b.device));
}

// Gives the memory of a block that no list holds back to where it came from.
void release(device_cache& cache, block* gone, bool was_cached) noexcept {
  if (gone->is_adopted) {
    const c10::DataPtr owner = std::move(gone->foreign);
  } else {
    const outback_status status = runtime().mem_free(runtime().self, gone->device, gone->data);
    if (status != OUTBACK_OK) {
      TORCH_WARN(failure_text(status, "mem_free", gone->device, static_cast<int64_t>(gone->size)));
    }
  }
  cache.forget(gone, was_cached);
}

void finish(device_cache& cache, block* freed) noexcept {
  if (!cache.put_back(freed)) release(cache, freed, /*was_cached=*/false);
}

bool is_over(const pending_block& waiting, bool wait) {
  bool over = true;
  for (const event& use : waiting.uses) {
    if (wait) use.synchronize();
    over = over && (wait || use.query());
  }
  return over;
}

// Frees what streams are done with. `wait`: waits for the streams instead. Throws where a device
// cannot say so any more; then what it was asked for, and all the rest, goes on waiting.
void process_pending(device_cache& cache, bool wait) {
  if (C10_LIKELY(!cache.has_pending())) return;
  std::vector<pending_block> all = cache.take_pending();
  auto next = all.begin();
  const auto keep_the_rest = c10::make_scope_exit([&] {
    for (; next != all.end(); ++next) cache.put_pending(std::move(*next));
  });
  while (next != all.end()) {
    const bool over = is_over(*next, wait);
    pending_block waiting = std::move(*next++);
    if (over) {
      finish(cache, waiting.freed);
    } else {
      cache.put_pending(std::move(waiting));
    }
  }
}

// A block's streams at the moment of its death: those whose work may still touch it.
void free_block(void* context) noexcept {
  auto* freed = static_cast<block*>(context);
  // A forked child has neither the runtime's threads nor a usable mutex: the parent's memory is not
  // its to free.
  if (is_in_bad_fork()) return;
  device_cache& cache = cache_of(freed->device);
  report(*freed, false);
  const auto& others = freed->also_used_on;  // nobody can add to it: this was the last owner
  const c10::Stream own = stream_on(freed->device, freed->stream);
  // The cache hands a block to work on its own stream again, in order. Adopted memory leaves: it
  // must be idle.
  const bool own_pending = freed->is_adopted && !is_idle(own);
  if (C10_LIKELY(others.empty() && !own_pending)) return finish(cache, freed);
  try {
    pending_block waiting{freed, {}};
    const auto wait_for = [&waiting](const c10::Stream& stream) {
      waiting.uses.emplace_back();
      waiting.uses.back().record(stream);
    };
    for (const c10::StreamId id : others) wait_for(stream_on(freed->device, id));
    if (own_pending) wait_for(own);
    cache.put_pending(std::move(waiting));
  } catch (const c10::Error& e) {
    // The device is lost: nobody knows when its work ends, so the memory stays where it is.
    TORCH_WARN(backend_name(), ": ", freed->size,
               " bytes leak, since an event failed: ", e.what_without_backtrace());
  } catch (const std::exception& e) {
    TORCH_WARN(backend_name(), ": ", freed->size, " bytes leak: ", e.what());
  }
}

void empty_cache(device_cache& cache) noexcept {
  for (block* it = cache.take_all_cached(); it != nullptr;) {
    block* const next = std::exchange(it->next, nullptr);
    release(cache, it, /*was_cached=*/true);
    it = next;
  }
}

// One mem_alloc, within the device's size: adopted memory counts against it too.
outback_status allocate_raw(c10::DeviceIndex device, const device_cache& cache, size_t size,
                            void** data) {
  const size_t taken = cache.reserved() + cache.adopted();
  const size_t total = device_info(device).memory_size;
  if (taken > total || size > total - taken) return OUTBACK_OUT_OF_MEMORY;
  return runtime().mem_alloc(runtime().self, device, size, data);
}

block* allocate_from_runtime(c10::DeviceIndex device, device_cache& cache, size_t requested,
                             c10::StreamId stream) {
  const size_class rounded = size_class_of(requested);
  void* data = nullptr;
  size_t size = rounded.size;
  int kept_class = rounded.index;
  outback_status status = allocate_raw(device, cache, size, &data);
  if (status == OUTBACK_OUT_OF_MEMORY) {
    cache.count_retry();
    process_pending(cache, /*wait=*/true);
    empty_cache(cache);
    status = allocate_raw(device, cache, size, &data);
    if (status == OUTBACK_OUT_OF_MEMORY && requested < size) {
      size = requested;
      kept_class = -1;
      status = allocate_raw(device, cache, size, &data);
    }
  }
  if (status == OUTBACK_OUT_OF_MEMORY) {
    cache.count_out_of_memory();
    throw_out_of_memory(device, requested, cache, runtime().last_error(runtime().self));
  }
  check(status, "mem_alloc", device, static_cast<int64_t>(size));
  return cache.add(data, size, requested, kept_class, stream);
}

class allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t size) override { return allocate_on(current_device(), size); }

  // Bytes of the current device's memory: what c10's copy-on-write and Allocator::clone ask for.
  void copy_data(void* dst, const void* src, size_t size) const override {
    const c10::Device device(device_type, current_device());
    copy_bytes(dst, device, src, device, size, /*non_blocking=*/true);
  }

  bool initialized() override { return is_started(); }

  void emptyCache(c10::MempoolId_t /*pool*/) override {
    if (!is_started()) return;
    std::exception_ptr first;  // one device that is lost keeps no other from giving back its memory
    for (c10::DeviceIndex device = 0; device < device_count(); ++device) {
      device_cache& cache = cache_of(device);
      try {
        process_pending(cache, /*wait=*/true);
      } catch (...) {
        if (first == nullptr) first = std::current_exception();
      }
      empty_cache(cache);
    }
    if (first != nullptr) std::rethrow_exception(first);
  }

  void recordStream(const c10::DataPtr& memory, c10::Stream stream) override {
    // Memory of somebody else's (a view of foreign memory, say), and none at all: nothing of ours
    // to keep.
    if (memory.get_deleter() != &free_block || memory.get_context() == nullptr) return;
    auto* used = static_cast<block*>(memory.get_context());
    if (stream.device_index() == used->device && stream.id() == used->stream) return;
    TORCH_CHECK(stream.device_type() == device_type && stream.device_index() == used->device,
                "record_stream: ", stream, " is not a stream of ",
                c10::Device(device_type, used->device), ", where the memory is");
    cache_of(used->device).record(used, stream.id());
  }

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    return cache_of(resolve_index(device)).stats();
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    cache_of(resolve_index(device)).reset_accumulated();
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    cache_of(resolve_index(device)).reset_peak();
  }

  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    const c10::DeviceIndex index = resolve_index(device);
    const device_cache& cache = cache_of(index);
    size_t total = device_info(index).memory_size;
    size_t taken = cache.adopted();
    size_t free = total;
    if (runtime().device_state != nullptr) {
      check(runtime().device_state->memory_usage(runtime().self, index, &free, &total),
            "device_state.memory_usage", index);
    } else {
      taken += cache.reserved();
    }
    return {free > taken ? free - taken : 0, total};
  }
};

}  // namespace

c10::DeviceAllocator& device_allocator() {
  static auto& it = *new allocator;
  return it;
}

c10::DataPtr allocate_on(c10::DeviceIndex device, size_t size) {
  ensure_started();
  check_index(device);
  const c10::Device where(device_type, device);
  if (size == 0) return c10::DataPtr(nullptr, nullptr, &free_block, where);
  device_cache& cache = cache_of(device);
  process_pending(cache, /*wait=*/false);
  if (size > largest_request) {
    cache.count_out_of_memory();
    throw_out_of_memory(device, size, cache, "");
  }
  const c10::StreamId stream = current_stream(device).id();
  block* found = cache.take(size_class_of(size).index, stream, size);
  if (found == nullptr) found = allocate_from_runtime(device, cache, size, stream);
  report(*found, true);
  return c10::DataPtr(found->data, found, &free_block, where);
}

c10::DataPtr adopt(c10::DataPtr&& memory, size_t size, c10::DeviceIndex device) {
  const c10::Device where(device_type, device);
  if (memory.get() == nullptr) return c10::DataPtr(nullptr, nullptr, &free_block, where);
  device_cache& cache = cache_of(device);
  process_pending(cache, /*wait=*/false);
  const size_t total = device_info(device).memory_size;
  if (C10_UNLIKELY(cache.reserved() + cache.adopted() + size > total)) {
    cache.count_retry();
    process_pending(cache, /*wait=*/true);
    empty_cache(cache);
    if (cache.reserved() + cache.adopted() + size > total) {
      cache.count_out_of_memory();
      throw_out_of_memory(device, size, cache, "");
    }
  }
  block* const made = cache.add_adopted(std::move(memory), size, current_stream(device).id());
  report(*made, true);
  return c10::DataPtr(made->data, made, &free_block, where);
}

}  // namespace outback::core
