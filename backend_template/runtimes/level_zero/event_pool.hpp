// Pooled events: driver events that are reused. Each recording, wait and completion uses one.
// (outback_event points to something else: see event.hpp.)
//
// A pooled event is never reset while a wait for it may be pending: code that appends a wait keeps
// a reference until the device has passed the wait. Intel's driver crashes if an event is reset
// while pending work refers to it.
#pragma once

#include <level_zero/ze_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

namespace outback::level_zero {

class driver;
class event_pool;

/// One driver event and its known state.
struct pooled_event {
  ze_event_handle_t handle = nullptr;
  uint64_t* timestamp = nullptr;  // 8 bytes of pinned memory for the device's clock
  event_pool* source = nullptr;
  std::atomic<uint32_t> references{0};
  std::atomic<bool> appended{false};  // signalled, or a command in a list will signal it
  std::atomic<bool> done{false};      // known to be signalled
  pooled_event* next = nullptr;       // in a fifo of `source`
};

/// Shares a pooled event like a shared_ptr; the last reference gives the event back to its
/// `source`. Two threads must not use one object at once, but may use two references to the same
/// event.
class event_ref {
 public:
  event_ref() = default;
  explicit event_ref(pooled_event* taken) noexcept : event_(taken) {}
  event_ref(const event_ref& other) noexcept : event_(other.event_) {
    if (event_ != nullptr) event_->references.fetch_add(1, std::memory_order_relaxed);
  }
  event_ref(event_ref&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  event_ref& operator=(event_ref other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~event_ref();

  explicit operator bool() const noexcept { return event_ != nullptr; }
  pooled_event* operator->() const noexcept { return event_; }
  pooled_event* get() const noexcept { return event_; }

  /// Returns whether the event is signalled, so that its work is done. Asks the driver until the
  /// driver says yes, and remembers this answer. Throws like `check`.
  bool complete() const;
  /// Blocks until the event is signalled, for at most `timeout` nanoseconds. Returns false after
  /// the timeout. Throws like `check`.
  bool wait(uint64_t timeout = UINT64_MAX) const;
  /// Signals the event from the host. Not for counter-based events. Throws like `check`.
  void signal() const;

 private:
  pooled_event* event_ = nullptr;
};

/// The pooled events of one driver and of one of the two kinds. Lives as long as the process. May
/// be used from any thread; holds no lock during a call that waits for the device.
class event_pool {
 public:
  /// Only lists that keep their order may signal counter-based events. Such events need no reset,
  /// and a wait that was appended stays valid when the event is reused.
  event_pool(driver& of, bool counter_based) : driver_(of), counter_based_(counter_based) {}
  event_pool(const event_pool&) = delete;
  event_pool& operator=(const event_pool&) = delete;

  /// Returns an event that is not signalled. Makes 256 more events if all are in use, and otherwise
  /// allocates nothing. Throws like `check`.
  event_ref acquire();

  bool counter_based() const noexcept { return counter_based_; }
  driver& of() const noexcept { return driver_; }

 private:
  friend class event_ref;

  /// A list of events, first in, first out.
  struct fifo {
    pooled_event* first = nullptr;
    pooled_event* last = nullptr;
    void push(pooled_event* signal) noexcept;
    pooled_event* pop() noexcept;
  };

  void give_back(pooled_event* signal) noexcept;
  pooled_event* take_used();  // the caller holds mutex_
  void grow();

  driver& driver_;
  const bool counter_based_;
  std::mutex mutex_;
  fifo clean_;  // never given to a command, or reset since
  fifo used_;   // given back, perhaps not signalled yet
  std::mutex grow_mutex_;
};

}  // namespace outback::level_zero
