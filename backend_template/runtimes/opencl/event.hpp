// An event of the OpenCL runtime: it stands for its last recording.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>

#include "backend_template/runtimes/opencl/event_ref.hpp"
#include "outback/runtime.h"

namespace outback::opencl {

/// outback_event points to this. May be used from any thread.
class event {
 public:
  /// `flags` are OUTBACK_EVENT_* bits.
  event(int32_t device, uint32_t flags) : device_(device), flags_(flags) {}

  int32_t device() const noexcept { return device_; }
  bool timed() const noexcept { return (flags_ & OUTBACK_EVENT_TIMING) != 0; }

  /// Returns the driver's event of the last recording; empty if that work was done already, or if
  /// there is no recording.
  event_ref current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  /// Makes `fresh` the last recording.
  void replace(event_ref fresh) {
    {
      const std::lock_guard lock(mutex_);
      std::swap(current_, fresh);
    }  // releases the old event without the lock
  }
  /// Returns the driver's event for native.event. If there is none, `make()` makes one that is
  /// complete.
  template <class Make>
  cl_event native(const Make& make) {
    const std::lock_guard lock(mutex_);
    if (!current_) current_ = make();
    return current_.get();
  }

 private:
  const int32_t device_;
  const uint32_t flags_;
  mutable std::mutex mutex_;
  event_ref current_;
};

}  // namespace outback::opencl
