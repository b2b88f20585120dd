// Pooled events: driver events that are used once and then used again. Recordings, waits and
// completions are made of them. (What outback_event points to is another thing: event.hpp.)
//
// A pooled event that somebody may still wait for is never reset: whoever appends a wait keeps a
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
class event_pool;

/// One driver event, and what is known of it.
struct pooled_event {
  ze_event_handle_t handle = nullptr;
  uint64_t* timestamp = nullptr;  // 8 bytes of pinned memory for the device's clock
  event_pool* source = nullptr;
  std::atomic<uint32_t> references{0};
  std::atomic<bool> appended{false};  // signalled, or will be by a command in a list
  std::atomic<bool> done{false};      // was seen to be signalled
  pooled_event* next = nullptr;       // in a fifo of `source`
};

/// Shares a pooled event, as a shared_ptr would; the last reference gives it back to its `source`.
/// One object is not safe for two threads at once; several references to the same event are.
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

  /// Whether the event is signalled, so that what it stands for is done. Asks the driver until the
  /// answer is yes, and then remembers. Throws like `check`.
  bool complete() const;
  /// Blocks until the event is signalled, for at most `timeout` nanoseconds. Returns false if that
  /// was too short. Throws like `check`.
  bool wait(uint64_t timeout = UINT64_MAX) const;
  /// Signals the event from the host. Not for counter-based events. Throws like `check`.
  void signal() const;

 private:
  pooled_event* event_ = nullptr;
};

/// The pooled events of one driver, of one of two kinds. Lives as long as the process. May be used
/// from any thread; no lock is held around a call that waits for the device.
class event_pool {
 public:
  /// Counter-based events may be signalled only by lists that keep their order. They need no reset,
  /// and a wait that was appended keeps its meaning when the event is used again.
  event_pool(driver& of, bool counter_based) : driver_(of), counter_based_(counter_based) {}
  event_pool(const event_pool&) = delete;
  event_pool& operator=(const event_pool&) = delete;

  /// Returns an event that is not signalled. Allocates only if all are in use: then it makes
  /// 256 more. Throws like `check`.
  event_ref acquire();

  bool counter_based() const noexcept { return counter_based_; }
  driver& of() const noexcept { return driver_; }

 private:
  friend class event_ref;

  /// A list of events; the one that was pushed first is popped first.
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
  fifo used_;   // given back; may not be signalled yet
  std::mutex grow_mutex_;
};

}  // namespace outback::level_zero
