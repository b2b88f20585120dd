#include "backend_template/runtimes/level_zero/event_pool.hpp"

#include <memory>

#include "backend_template/runtimes/level_zero/driver.hpp"
#include "backend_template/runtimes/level_zero/result.hpp"

namespace outback::level_zero {
namespace {

// A pool has so many events, so that few calls of `acquire` have to make one.
constexpr uint32_t events_of_a_pool = 256;

// So many used events are asked at most, the oldest first, because they are the likeliest to be
// signalled. That bounds the time of `acquire`.
constexpr int asked_at_once = 4;

}  // namespace

event_ref::~event_ref() {
  if (event_ != nullptr && event_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    event_->source->give_back(event_);
  }
}

bool event_ref::complete() const {
  if (event_->done.load(std::memory_order_acquire)) return true;
  const auto& api = event_->source->of().api();
  if (!call_ready(api.zeEventQueryStatus, event_->handle)) return false;
  event_->done.store(true, std::memory_order_release);
  return true;
}

bool event_ref::wait(uint64_t timeout) const {
  if (event_->done.load(std::memory_order_acquire)) return true;
  const auto& api = event_->source->of().api();
  if (!call_ready(api.zeEventHostSynchronize, event_->handle, timeout)) {
    return false;
  }
  event_->done.store(true, std::memory_order_release);
  return true;
}

void event_ref::signal() const {
  call(event_->source->of().api().zeEventHostSignal, event_->handle);
  event_->appended.store(true, std::memory_order_relaxed);
}

void event_pool::fifo::push(pooled_event* signal) noexcept {
  signal->next = nullptr;
  (last != nullptr ? last->next : first) = signal;
  last = signal;
}

pooled_event* event_pool::fifo::pop() noexcept {
  pooled_event* const signal = first;
  if (signal == nullptr) return nullptr;
  first = signal->next;
  if (first == nullptr) last = nullptr;
  return signal;
}

event_ref event_pool::acquire() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      pooled_event* signal = clean_.pop();
      if (signal == nullptr) signal = take_used();
      if (signal != nullptr) {
        signal->appended.store(false, std::memory_order_relaxed);
        signal->done.store(false, std::memory_order_relaxed);
        signal->references.store(1, std::memory_order_relaxed);
        return event_ref(signal);
      }
    }
    grow();
  }
}

pooled_event* event_pool::take_used() {
  const auto& api = driver_.api();
  for (int i = 0; i < asked_at_once; ++i) {
    pooled_event* const signal = used_.pop();
    if (signal == nullptr) return nullptr;
    // A counter-based event needs no reset, but it too stays here until the driver knows that it
    // was signalled.
    const bool ready = signal->done.load(std::memory_order_acquire) ||
                       api.zeEventQueryStatus(signal->handle) == ZE_RESULT_SUCCESS;
    if (!ready) {
      used_.push(signal);
      continue;
    }
    if (counter_based_) return signal;
    // Nobody refers to the event, and it is signalled, so that no work in flight can refer to it.
    const ze_result_t reset = api.zeEventHostReset(signal->handle);
    if (reset == ZE_RESULT_SUCCESS) return signal;
    used_.push(signal);
    check(reset, "zeEventHostReset");
  }
  return nullptr;
}

void event_pool::give_back(pooled_event* signal) noexcept {
  const std::lock_guard lock(mutex_);
  // An event whose command was never appended is not waited for: it stays clean.
  (signal->appended.load(std::memory_order_relaxed) ? used_ : clean_).push(signal);
}

void event_pool::grow() {
  // A lock of its own, so that other threads can give events back while a pool is made.
  const std::lock_guard growing(grow_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (clean_.first != nullptr) return;  // another thread made a pool meanwhile
  }
  const auto& api = driver_.api();
  const ze_context_handle_t context = driver_.context();
  const newer::counter_based_event_pool_desc counting = {newer::counter_based_event_pool, nullptr,
                                                         newer::counter_based_immediate};
  ze_event_pool_desc_t desc = {};
  desc.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  desc.pNext = counter_based_ ? &counting : nullptr;
  desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  desc.count = events_of_a_pool;
  ze_event_pool_handle_t pool = nullptr;
  call(api.zeEventPoolCreate, context, &desc, 0, nullptr, &pool);

  // Leaked on purpose, with the pool: work in flight refers to the events until the process ends.
  std::unique_ptr<pooled_event[]> events;
  void* timestamps = nullptr;
  uint32_t made = 0;
  try {
    events = std::make_unique<pooled_event[]>(events_of_a_pool);
    timestamps = driver_.alloc_pinned(events_of_a_pool * sizeof(uint64_t));
    for (; made < events_of_a_pool; ++made) {
      pooled_event& signal = events[made];
      ze_event_desc_t event = {};
      event.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
      event.index = made;
      // Scope "host", because the host reads what was copied. It includes other devices.
      event.signal = ZE_EVENT_SCOPE_FLAG_HOST;
      event.wait = ZE_EVENT_SCOPE_FLAG_HOST;
      call(api.zeEventCreate, pool, &event, &signal.handle);
      signal.timestamp = static_cast<uint64_t*>(timestamps) + made;
      signal.source = this;
    }
  } catch (...) {
    while (made > 0) api.zeEventDestroy(events[--made].handle);
    if (timestamps != nullptr) api.zeMemFree(context, timestamps);
    api.zeEventPoolDestroy(pool);
    throw;
  }
  pooled_event* const all = events.release();
  const std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < events_of_a_pool; ++i) clean_.push(&all[i]);
}

}  // namespace outback::level_zero
