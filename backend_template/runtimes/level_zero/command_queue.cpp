#include "backend_template/runtimes/level_zero/command_queue.hpp"

#include <cstring>
#include <utility>

#include "backend_template/runtimes/level_zero/driver.hpp"

namespace outback::level_zero {
namespace {

// So many waits are held before a new one looks which of them the device is past. Looking costs a
// call of the driver.
constexpr std::size_t held_before_a_look = 32;

// In a list that others append to, our last command may not be the last one. So `idle` appends a
// command, and gives an idle device 200 ms to get to it. A busy device costs the caller that time
// once: the next call finds the command pending and returns at once.
constexpr uint64_t look_ns = 200'000'000;

}  // namespace

command_queue::~command_queue() {
  // There is nobody to report a failure to.
  if (!foreign_) driver_.api().zeCommandListDestroy(list_);
}

event_pool& command_queue::events() noexcept {
  return order_ == order::by_list ? driver_.ordered_events() : driver_.events();
}

ze_result_t command_queue::barrier(ze_event_handle_t signal, ze_event_handle_t wait) const {
  return driver_.api().zeCommandListAppendBarrier(list_, signal, wait != nullptr ? 1 : 0,
                                                  wait != nullptr ? &wait : nullptr);
}

void command_queue::before_command() {
  // Others may have appended a command without a barrier behind it, so an exposed list always gets
  // one first.
  if (order_ == order::by_list || (!unordered_ && !exposed())) return;
  check(barrier(nullptr, nullptr), "zeCommandListAppendBarrier");
  unordered_ = false;
}

// If this barrier cannot be appended, before_command appends it in front of the next command, where
// the failure can be reported.
void command_queue::after_command(leaves how) noexcept {
  appended_.fetch_add(1, std::memory_order_release);
  if (order_ == order::by_list) return;
  unordered_ = how == leaves::unordered && barrier(nullptr, nullptr) != ZE_RESULT_SUCCESS;
}

event_ref command_queue::append_barrier_event() {
  event_ref signal = events().acquire();
  check(barrier(signal->handle, nullptr), "zeCommandListAppendBarrier");
  signal->appended.store(true, std::memory_order_relaxed);
  after_command(leaves::ordered);
  latest_ = {appended_.load(std::memory_order_relaxed), signal, true};
  return signal;
}

event_ref command_queue::mark() {
  const bool covers_all =
      latest_.signal && latest_.position == appended_.load(std::memory_order_relaxed);
  return covers_all && !exposed() ? latest_.signal : append_barrier_event();
}

event_ref command_queue::record(bool timed) {
  const std::lock_guard lock(mutex_);
  if (!timed) return append_barrier_event();
  const event_ref signal = events().acquire();
  return append_event(signal, driver_.api().zeCommandListAppendWriteGlobalTimestamp,
                      signal->timestamp);
}

event_ref command_queue::close_off() {
  const std::lock_guard lock(mutex_);
  const uint64_t all = appended_.load(std::memory_order_relaxed);
  if (all == 0 && !exposed()) return event_ref();
  const bool has_one = latest_.signal && latest_.position == all && latest_.is_last;
  return has_one && !exposed() ? latest_.signal : append_barrier_event();
}

event_ref command_queue::pending() {
  const std::lock_guard lock(mutex_);
  if (known_idle(appended_.load(std::memory_order_relaxed))) return event_ref();
  event_ref last = mark();
  return last.complete() ? event_ref() : last;
}

void command_queue::wait_for(const event_ref& signal) {
  const std::lock_guard lock(mutex_);
  make_room_to_hold();
  check(barrier(nullptr, signal->handle), "zeCommandListAppendBarrier");
  after_command(leaves::ordered);
  hold(signal);
}

void command_queue::make_room_to_hold() {
  // Now, so that `hold` cannot fail after the wait was appended.
  held_.reserve(held_.size() + 1);
  if (held_.size() < held_before_a_look) return;
  if (passing_.signal && passing_.signal.complete()) {
    raise_completed(passing_.position);
    passing_ = {};
    release_passed();
  }
  // The place is not reached yet; the next wait looks again.
  if (passing_.signal) return;
  mark();  // makes latest_ a place behind all waits that are held
  passing_ = latest_;
}

void command_queue::hold(const event_ref& signal) noexcept {
  // A counter-based event may be used again while a wait for it is in a list.
  if (signal->source->counter_based()) return;
  held_.push_back({appended_.load(std::memory_order_relaxed), signal});
  holds_.store(true, std::memory_order_relaxed);
}

void command_queue::release_passed() noexcept {
  const uint64_t done = completed_.load(std::memory_order_acquire);
  std::erase_if(held_, [done](const held& each) { return each.position <= done; });
  holds_.store(!held_.empty(), std::memory_order_relaxed);
}

void command_queue::raise_completed(uint64_t position) noexcept {
  uint64_t known = completed_.load(std::memory_order_relaxed);
  while (known < position &&
         !completed_.compare_exchange_weak(known, position, std::memory_order_release)) {
  }
}

void command_queue::completed(uint64_t position) {
  raise_completed(position);
  // Spares most calls the lock.
  if (holds_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(mutex_);
    release_passed();
  }
  worker_.rethrow();
}

bool command_queue::copy_staged(void* dst, const void* src, std::size_t size) {
  const std::lock_guard lock(mutex_);
  void* const block = staging_.acquire();
  if (block == nullptr) return false;
  std::memcpy(block, src, size);
  staging_.use(append_event(events().acquire(), driver_.api().zeCommandListAppendMemoryCopy, dst,
                            static_cast<const void*>(block), size));
  return true;
}

void command_queue::enqueue_host_work(std::function<void()> work,
                                      const std::function<void()>& accepted) {
  // Whatever may fail comes first: once the gate is in the list, the job must come.
  host_worker::prepared job = worker_.prepare(std::move(work));
  const std::lock_guard lock(mutex_);
  make_room_to_hold();
  // Not of the counter-based kind, because the host signals the gate.
  event_ref reached = driver_.events().acquire(), gate = driver_.events().acquire();
  check(barrier(reached->handle, nullptr), "zeCommandListAppendBarrier");
  reached->appended.store(true, std::memory_order_relaxed);
  after_command(leaves::ordered);
  check(barrier(nullptr, gate->handle), "zeCommandListAppendBarrier");
  gate->appended.store(true, std::memory_order_relaxed);
  after_command(leaves::ordered);
  hold(gate);
  if (accepted) accepted();
  worker_.push(std::move(job), std::move(reached), std::move(gate));
}

bool command_queue::idle() {
  const uint64_t goal = appended_.load(std::memory_order_acquire);
  if (known_idle(goal)) return true;
  if (driver_.syncs_lists()) {
    if (!call_ready(driver_.api().zeCommandListHostSynchronize, list_, 0)) {
      return false;
    }
  } else {
    event_ref last;
    {
      const std::lock_guard lock(mutex_);
      if (latest_.signal && !latest_.signal.complete()) return false;
      last = mark();
    }
    if (!(exposed() ? last.wait(look_ns) : last.complete())) return false;
  }
  completed(goal);
  return true;
}

void command_queue::sync() {
  const uint64_t goal = appended_.load(std::memory_order_acquire);
  if (known_idle(goal)) return;
  if (driver_.syncs_lists()) {
    call(driver_.api().zeCommandListHostSynchronize, list_, UINT64_MAX);
  } else {
    event_ref last;
    {
      const std::lock_guard lock(mutex_);
      last = mark();
    }
    last.wait();
  }
  completed(goal);
}

}  // namespace outback::level_zero
