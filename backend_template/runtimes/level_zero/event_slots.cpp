#include "backend_template/runtimes/level_zero/event_slots.hpp"

#include <memory>

#include "backend_template/runtimes/level_zero/driver.hpp"
#include "backend_template/runtimes/level_zero/result.hpp"

namespace outback::level_zero {
namespace {

// A pool has so many events, so that few calls of `acquire` have to make one.
constexpr uint32_t slots_of_a_pool = 256;

// So many used slots are asked at most, the oldest first, because they are the likeliest to be
// signalled. That bounds the time of `acquire`.
constexpr int asked_at_once = 4;

}  // namespace

slot_ref::~slot_ref() {
  if (slot_ != nullptr && slot_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    slot_->source->give_back(slot_);
  }
}

bool slot_ref::complete() const {
  if (slot_->done.load(std::memory_order_acquire)) return true;
  const auto& api = slot_->source->of().api();
  if (!check_ready(api.zeEventQueryStatus(slot_->event), "zeEventQueryStatus")) return false;
  slot_->done.store(true, std::memory_order_release);
  return true;
}

bool slot_ref::wait(uint64_t timeout) const {
  if (slot_->done.load(std::memory_order_acquire)) return true;
  const auto& api = slot_->source->of().api();
  if (!check_ready(api.zeEventHostSynchronize(slot_->event, timeout), "zeEventHostSynchronize")) {
    return false;
  }
  slot_->done.store(true, std::memory_order_release);
  return true;
}

void slot_ref::signal() const {
  check(slot_->source->of().api().zeEventHostSignal(slot_->event), "zeEventHostSignal");
  slot_->appended.store(true, std::memory_order_relaxed);
}

void event_slots::fifo::push(event_slot* slot) noexcept {
  slot->next = nullptr;
  (last != nullptr ? last->next : first) = slot;
  last = slot;
}

event_slot* event_slots::fifo::pop() noexcept {
  event_slot* const slot = first;
  if (slot == nullptr) return nullptr;
  first = slot->next;
  if (first == nullptr) last = nullptr;
  return slot;
}

slot_ref event_slots::acquire() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      event_slot* slot = clean_.pop();
      if (slot == nullptr) slot = take_used();
      if (slot != nullptr) {
        slot->appended.store(false, std::memory_order_relaxed);
        slot->done.store(false, std::memory_order_relaxed);
        slot->references.store(1, std::memory_order_relaxed);
        return slot_ref(slot);
      }
    }
    grow();
  }
}

event_slot* event_slots::take_used() {
  const auto& api = driver_.api();
  for (int i = 0; i < asked_at_once; ++i) {
    event_slot* const slot = used_.pop();
    if (slot == nullptr) return nullptr;
    // A counter-based slot needs no reset, but it too stays here until the driver knows that it was
    // signalled.
    const bool ready = slot->done.load(std::memory_order_acquire) ||
                       api.zeEventQueryStatus(slot->event) == ZE_RESULT_SUCCESS;
    if (!ready) {
      used_.push(slot);
      continue;
    }
    if (counter_based_) return slot;
    // Nobody refers to the slot, and its event is signalled, so that no work in flight can refer to
    // the event.
    const ze_result_t reset = api.zeEventHostReset(slot->event);
    if (reset == ZE_RESULT_SUCCESS) return slot;
    used_.push(slot);
    check(reset, "zeEventHostReset");
  }
  return nullptr;
}

void event_slots::give_back(event_slot* slot) noexcept {
  const std::lock_guard lock(mutex_);
  // A slot whose command was never appended has no event to wait for: it stays clean.
  (slot->appended.load(std::memory_order_relaxed) ? used_ : clean_).push(slot);
}

void event_slots::grow() {
  // A lock of its own, so that other threads can give slots back while a pool is made.
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
  desc.count = slots_of_a_pool;
  ze_event_pool_handle_t pool = nullptr;
  check(api.zeEventPoolCreate(context, &desc, 0, nullptr, &pool), "zeEventPoolCreate");

  // Leaked on purpose, with the pool: work in flight refers to the events until the process ends.
  std::unique_ptr<event_slot[]> slots;
  void* timestamps = nullptr;
  uint32_t made = 0;
  try {
    slots = std::make_unique<event_slot[]>(slots_of_a_pool);
    const ze_host_mem_alloc_desc_t host = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    check(api.zeMemAllocHost(context, &host, slots_of_a_pool * sizeof(uint64_t), 64, &timestamps),
          "zeMemAllocHost");
    for (; made < slots_of_a_pool; ++made) {
      event_slot& slot = slots[made];
      ze_event_desc_t event = {};
      event.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
      event.index = made;
      // Scope "host", because the host reads what was copied. It includes other devices.
      event.signal = ZE_EVENT_SCOPE_FLAG_HOST;
      event.wait = ZE_EVENT_SCOPE_FLAG_HOST;
      check(api.zeEventCreate(pool, &event, &slot.event), "zeEventCreate");
      slot.timestamp = static_cast<uint64_t*>(timestamps) + made;
      slot.source = this;
    }
  } catch (...) {
    while (made > 0) api.zeEventDestroy(slots[--made].event);
    if (timestamps != nullptr) api.zeMemFree(context, timestamps);
    api.zeEventPoolDestroy(pool);
    throw;
  }
  event_slot* const all = slots.release();
  const std::lock_guard lock(mutex_);
  for (uint32_t i = 0; i < slots_of_a_pool; ++i) clean_.push(&all[i]);
}

}  // namespace outback::level_zero
