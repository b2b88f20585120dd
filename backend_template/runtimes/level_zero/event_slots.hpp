// Driver events that are used once and come back: what recordings, waits and completions are made
// of.
//
// A slot that may still be waited for is never reset: who appended a wait keeps a reference until
// the device got past it. Resetting an event that work in flight refers to crashes Intel's driver.
#pragma once

#include <level_zero/ze_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace outback::level_zero {

class driver;
class event_slots;

struct event_slot {
  ze_event_handle_t event = nullptr;
  uint64_t* timestamp = nullptr;  // in the driver's host memory, for whoever signals the event
  event_slots* source = nullptr;
  std::atomic<uint32_t> references{0};
  std::atomic<bool> appended{false};  // somebody will signal it, or has
  std::atomic<bool> done{false};      // was seen signalled
  event_slot* next = nullptr;         // in a list of `source`
};

/// Shares a slot; the last to go gives it back. Not for two threads at once, as a shared_ptr is
/// not.
class slot_ref {
 public:
  slot_ref() = default;
  explicit slot_ref(event_slot* taken) noexcept : slot_(taken) {}
  slot_ref(const slot_ref& other) noexcept : slot_(other.slot_) {
    if (slot_ != nullptr) slot_->references.fetch_add(1, std::memory_order_relaxed);
  }
  slot_ref(slot_ref&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  slot_ref& operator=(slot_ref other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~slot_ref();

  explicit operator bool() const noexcept { return slot_ != nullptr; }
  event_slot* operator->() const noexcept { return slot_; }
  event_slot* get() const noexcept { return slot_; }

  /// Signalled, so that what it stands for is done. Throws like `check`.
  bool complete() const;
  /// Returns when it is. At most `timeout` nanoseconds; false: it took longer.
  bool wait(uint64_t timeout = UINT64_MAX) const;
  /// From the host. Not for slots of ordered lists.
  void signal() const;

 private:
  event_slot* slot_ = nullptr;
};

/// The slots of one driver, and of one kind. Lives as long as the process. May be used from any
/// thread; what is held meanwhile is never held around a call that waits.
class event_slots {
 public:
  /// `counter_based`: only lists that keep their order may signal them. They need no reset, and
  /// waits that were appended stay what they were.
  event_slots(driver& of, bool counter_based) : driver_(of), counter_based_(counter_based) {}
  event_slots(const event_slots&) = delete;
  event_slots& operator=(const event_slots&) = delete;

  /// A slot that is not signalled. No allocation, unless all are in use. Throws like `check`.
  slot_ref acquire();

  bool counter_based() const noexcept { return counter_based_; }
  driver& of() const noexcept { return driver_; }

 private:
  friend class slot_ref;

  /// Slots in the order in which they came.
  struct fifo {
    event_slot* first = nullptr;
    event_slot* last = nullptr;
    void push(event_slot* slot) noexcept;
    event_slot* pop() noexcept;
  };

  void give_back(event_slot* slot) noexcept;
  event_slot* take_used();  // mutex_ is held
  void grow();

  driver& driver_;
  const bool counter_based_;
  std::mutex mutex_;
  fifo clean_;  // never appended, or reset
  fifo used_;   // perhaps not signalled yet
  std::mutex grow_mutex_;
};

}  // namespace outback::level_zero
