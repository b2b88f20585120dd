// Event slots: driver events that are used once and then used again. Recordings, waits and
// completions are made of them. (A slot of the runtime's table is something else.)
//
// An event slot that somebody may still wait for is never reset: whoever appends a wait keeps a
// reference until the device is past it. Intel's driver crashes if an event is reset that work in
// flight refers to.
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

/// One driver event, and what is known of it.
struct event_slot {
  ze_event_handle_t event = nullptr;
  uint64_t* timestamp = nullptr;  // 8 bytes of pinned memory for the device's clock
  event_slots* source = nullptr;
  std::atomic<uint32_t> references{0};
  std::atomic<bool> appended{false};  // signalled, or will be by a command in a list
  std::atomic<bool> done{false};      // was seen to be signalled
  event_slot* next = nullptr;         // in a fifo of `source`
};

/// Shares an event slot, as a shared_ptr would; the last reference gives it back to its `source`.
/// One object is not safe for two threads at once; several references to the same slot are.
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

  /// Whether the event is signalled, so that what it stands for is done. Asks the driver until the
  /// answer is yes, and then remembers. Throws like `check`.
  bool complete() const;
  /// Blocks until the event is signalled, for at most `timeout` nanoseconds. Returns false if that
  /// was too short. Throws like `check`.
  bool wait(uint64_t timeout = UINT64_MAX) const;
  /// Signals the event from the host. Not for counter-based slots. Throws like `check`.
  void signal() const;

 private:
  event_slot* slot_ = nullptr;
};

/// The event slots of one driver, of one of two kinds. Lives as long as the process. May be used
/// from any thread; no lock is held around a call that waits for the device.
class event_slots {
 public:
  /// Counter-based events may be signalled only by lists that keep their order. They need no reset,
  /// and a wait that was appended keeps its meaning when the event is used again.
  event_slots(driver& of, bool counter_based) : driver_(of), counter_based_(counter_based) {}
  event_slots(const event_slots&) = delete;
  event_slots& operator=(const event_slots&) = delete;

  /// Returns a slot whose event is not signalled. Allocates only if all are in use: then it makes
  /// 256 more. Throws like `check`.
  slot_ref acquire();

  bool counter_based() const noexcept { return counter_based_; }
  driver& of() const noexcept { return driver_; }

 private:
  friend class slot_ref;

  /// A list of slots; the one that was pushed first is popped first.
  struct fifo {
    event_slot* first = nullptr;
    event_slot* last = nullptr;
    void push(event_slot* slot) noexcept;
    event_slot* pop() noexcept;
  };

  void give_back(event_slot* slot) noexcept;
  event_slot* take_used();  // the caller holds mutex_
  void grow();

  driver& driver_;
  const bool counter_based_;
  std::mutex mutex_;
  fifo clean_;  // never given to a command, or reset since
  fifo used_;   // given back; may not be signalled yet
  std::mutex grow_mutex_;
};

}  // namespace outback::level_zero
