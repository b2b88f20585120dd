// An event: what its last recording stands for.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "backend_template/runtimes/level_zero/event_slots.hpp"
#include "backend_template/runtimes/level_zero/shared_event.hpp"

namespace outback::level_zero {

/// What one recording left. A copy keeps its meaning when the event is recorded again.
struct recording {
  slot_ref slot;        // none: never recorded
  int64_t host_ns = 0;  // when the host asked for it, by its steady clock; with timing only
};

/// What `outback_event` points to. May be used from any thread.
class event {
 public:
  event(int32_t device, uint32_t flags, std::shared_ptr<shared_event> shared)
      : device_(device), flags_(flags), shared_(std::move(shared)) {}

  int32_t device() const noexcept { return device_; }
  bool timed() const noexcept { return (flags_ & OUTBACK_EVENT_TIMING) != 0; }
  /// Null, unless the event is one of several processes.
  const std::shared_ptr<shared_event>& shared() const noexcept { return shared_; }

  recording current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  /// The slot of the last recording, for others; one that is complete where there was none.
  /// `make()` answers such a slot.
  template <class Make>
  event_slot* native(const Make& make) {
    const std::lock_guard lock(mutex_);
    if (current_.slot) return current_.slot.get();
    if (!stand_in_) stand_in_ = make();
    return stand_in_.get();
  }
  void replace(recording fresh) {
    {
      const std::lock_guard lock(mutex_);
      std::swap(current_, fresh);
    }  // what it was goes without the lock
  }

 private:
  const int32_t device_;
  const uint32_t flags_;
  const std::shared_ptr<shared_event> shared_;
  mutable std::mutex mutex_;
  recording current_;
  slot_ref stand_in_;
};

}  // namespace outback::level_zero
