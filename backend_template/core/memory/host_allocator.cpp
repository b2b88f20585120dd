#include "backend_template/core/memory/host_allocator.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <new>
#include <optional>
#include <vector>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/host_failure.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/exit.h"
#include "backend_template/core/memory/held_host_memory.h"
#include "backend_template/core/memory/runtime_memory.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/event.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/streams/twin_stream.h"
#include "backend_template/core/twin/twin.h"

namespace outback::core {
namespace {

// What the contract promises for pinned memory.
constexpr std::align_val_t pageable_alignment{64};

using host_block = at::HostBlock<c10::Stream>;

// When the work that used a block, on one stream, is over.
class pinned_use {
 public:
  explicit pinned_use(const c10::Stream& stream) : stream_(stream) { is_recorded(); }

  // Whoever allocates must not lose a block, as an exception would: torch has taken it out of its
  // list. So what a runtime reports only once is kept for the next call that waits.
  bool is_over() noexcept {
    try {
      return is_recorded() && over_.query();
    } catch (...) {
      report_handled(stream_.device_index(), "work failed that memory was freed behind");
      return false;
    }
  }

 private:
  // While the stream is in a capture, an event would be recorded in the graph, and never be over.
  // What the stream did before is over with an event that is recorded after the capture.
  bool is_recorded() {
    if (is_recorded_) return true;
    const c10::DeviceIndex device = stream_.device_index();
    const uint64_t captures = captures_so_far(device);
    if (capture_of(stream_) != nullptr) return false;
    over_.record(stream_);
    // A capture may have begun meanwhile.
    is_recorded_ = captures_so_far(device) == captures;
    return is_recorded_;
  }

  c10::Stream stream_;
  event over_;
  bool is_recorded_ = false;
};

// The virtual functions of at::CachingHostAllocatorImpl, which does the caching.
class host_cache final : public at::CachingHostAllocatorImpl<c10::Stream, pinned_use, host_block> {
  void allocate_host_memory(size_t size, void** ptr) override {
    ensure_started();
    const outback_host_memory* group = runtime().host_memory;
    if (group == nullptr) {
      *ptr = ::operator new(size, pageable_alignment);
      return;
    }
    give_back_caches_at_exit();
    check(allocate_pinned_memory(size, ptr), "host_memory.alloc", none, static_cast<int64_t>(size));
  }

  void free_block(host_block* freed) override {
    const outback_host_memory* group = runtime().host_memory;
    if (group == nullptr) return ::operator delete(freed->ptr_, pageable_alignment);
    check(free_pinned_memory(freed->ptr_), "host_memory.free", none,
          static_cast<int64_t>(freed->size_));
  }

  void record_stream(std::optional<std::vector<pinned_use>>& events, c10::Stream stream) override {
    if (!events.has_value()) events.emplace();
    events->emplace_back(stream);
  }

  bool query_event(pinned_use& use) override { return use.is_over(); }

  c10::Stream get_current_stream() const override { return current_stream(-1); }

  bool stream_is_capturing(c10::Stream stream) const override {
    return capture_of(stream) != nullptr;
  }

 public:
  void copy_data(void* dst, const void* src, size_t size) const override {
    std::memcpy(dst, src, size);
  }
};

using caching_allocator = at::CachingHostAllocatorInterface<host_cache, free_pinned>;

at::HostAllocator* known_twins_allocator() {
  const auto type = known_twin_type();
  return type ? at::getHostAllocator(*type) : nullptr;
}

// Ours, and the twin's where the process has one: pinned memory is not a device's, so that of the
// first device serves all. A torch that was built without CUDA has only ours.
class routing_allocator final : public caching_allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    ensure_started();
    if (!known_twin_type()) twin_of(0);
    at::HostAllocator* const twins = known_twins_allocator();
    return twins != nullptr ? twins->allocate(size) : caching_allocator::allocate(size);
  }
  // Each takes only its own memory.
  bool record_event(void* ptr, void* ctx, c10::Stream stream) override {
    const auto theirs = twins_stream(stream);
    if (theirs && known_twins_allocator()->record_event(ptr, ctx, *theirs)) return true;
    if (!caching_allocator::record_event(ptr, ctx, stream)) return false;
    // What a capture records, each replay does with the same memory.
    const auto open = capture_of(stream);
    if (C10_UNLIKELY(open != nullptr && open->host_memory() != nullptr)) {
      open->host_memory()->hold(pointer_info(ptr).base);
    }
    return true;
  }
  void record_use(void* block, c10::Stream stream) {
    caching_allocator::record_event(block, nullptr, stream);
  }
  void empty_cache() override {
    if (at::HostAllocator* const twins = known_twins_allocator()) twins->empty_cache();
    caching_allocator::empty_cache();
  }
  at::HostStats get_stats() override {
    at::HostAllocator* const twins = known_twins_allocator();
    return twins != nullptr ? twins->get_stats() : caching_allocator::get_stats();
  }
  void reset_accumulated_stats() override {
    if (at::HostAllocator* const twins = known_twins_allocator()) twins->reset_accumulated_stats();
    caching_allocator::reset_accumulated_stats();
  }
  void reset_peak_stats() override {
    if (at::HostAllocator* const twins = known_twins_allocator()) twins->reset_peak_stats();
    caching_allocator::reset_peak_stats();
  }
};

routing_allocator& host_caching_allocator() {
  static auto& implementation = *new routing_allocator;
  return implementation;
}

}  // namespace

void note_pinned_use(void* block, const c10::Stream& stream) {
  host_caching_allocator().record_use(block, stream);
}

void free_pinned(void* context) {
  // A forked child cannot wait for the parent's streams, and does not own the memory.
  if (is_in_bad_fork()) return;
  void* const block = static_cast<host_block*>(context)->ptr_;
  if (free_after_graphs(block, context)) return;
  try {
    host_caching_allocator().free(context);
  } catch (const c10::Error&) {
    // The device is lost. Nobody knows when its copies end, so the memory is never freed. A deleter
    // must not throw, hence the warning.
    warn(backend_name(), ": pinned memory leaks, since an event failed: ", handled_text());
  }
}

at::HostAllocator& host_allocator() {
  return host_caching_allocator();
}

c10::DataPtr allocate_for_copies(size_t size) {
  try {
    return host_allocator().allocate(size);
  } catch (const c10::OutOfMemoryError&) {
    TORCH_WARN_ONCE(backend_name(),
                    ": pinned memory has run out, so copies go through pageable memory, which is "
                    "slower: ",
                    handled_text());
    return c10::GetCPUAllocator()->allocate(size);
  }
}

}  // namespace outback::core
