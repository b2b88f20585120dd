// An event of the Level Zero runtime: it stands for its last recording.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "backend_template/runtimes/level_zero/event_pool.hpp"
#include "backend_template/runtimes/shared_recordings.hpp"

namespace outback::level_zero {

/// One recording of an event. A copy stays valid when the event is recorded again.
struct recording {
  event_ref signal;     // empty: never recorded
  int64_t host_ns = 0;  // time of the call by the host's steady clock; only if timed
};

/// outback_event points to this. May be used from any thread.
class event {
 public:
  /// `flags` are OUTBACK_EVENT_* bits. With `shared` the event belongs to several processes, and
  /// has no recordings of its own.
  event(int32_t device, uint32_t flags, std::shared_ptr<shared_recordings> shared)
      : device_(device), flags_(flags), shared_(std::move(shared)) {}

  int32_t device() const noexcept { return device_; }
  bool timed() const noexcept { return (flags_ & OUTBACK_EVENT_TIMING) != 0; }
  /// Returns the part that other processes see; null for an ordinary event.
  const std::shared_ptr<shared_recordings>& shared() const noexcept { return shared_; }

  /// Returns the last recording.
  recording current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  /// Returns the pooled event of the last recording, for native.event. If the event was never
  /// recorded, returns a complete pooled event, which the first call gets from `make()`. The result
  /// is valid until the next `replace`.
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
