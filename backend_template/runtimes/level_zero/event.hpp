// An event of the Level Zero runtime: it stands for its last recording.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "backend_template/runtimes/level_zero/event_pool.hpp"
#include "backend_template/runtimes/shared_recordings.hpp"

namespace outback::level_zero {

/// What one recording left. A copy keeps its meaning when the event is recorded again.
struct recording {
  event_ref signal;     // empty: never recorded
  int64_t host_ns = 0;  // of the call, by the host's steady clock; timed only
};

/// What outback_event points to. May be used from any thread.
class event {
 public:
  /// `flags` are OUTBACK_EVENT_* bits. With `shared` the event is the one of several processes, and
  /// has no recordings of its own.
  event(int32_t device, uint32_t flags, std::shared_ptr<shared_recordings> shared)
      : device_(device), flags_(flags), shared_(std::move(shared)) {}

  int32_t device() const noexcept { return device_; }
  bool timed() const noexcept { return (flags_ & OUTBACK_EVENT_TIMING) != 0; }
  /// The part that other processes see; null for an ordinary event.
  const std::shared_ptr<shared_recordings>& shared() const noexcept { return shared_; }

  /// Returns the last recording.
  recording current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  /// Returns the pooled event of the last recording, for native.event. If there was none, returns
  /// one that is complete, which `make()` provides once. It is this event's until the next
  /// `replace`.
  template <class Make>
  pooled_event* native(const Make& make) {
    const std::lock_guard lock(mutex_);
    if (current_.signal) return current_.signal.get();
    if (!stand_in_) stand_in_ = make();
    return stand_in_.get();
  }
  /// Makes `fresh` the last recording.
  void replace(recording fresh) {
    {
      const std::lock_guard lock(mutex_);
      std::swap(current_, fresh);
    }  // destroys the old recording without the lock
  }

 private:
  const int32_t device_;
  const uint32_t flags_;
  const std::shared_ptr<shared_recordings> shared_;
  mutable std::mutex mutex_;
  recording current_;
  event_ref stand_in_;
};

}  // namespace outback::level_zero
