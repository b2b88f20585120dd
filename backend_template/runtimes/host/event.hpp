// An event: what it stands for is a mark, made anew by each recording.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "backend_template/runtimes/host/ipc_event.hpp"
#include "backend_template/runtimes/host/stream.hpp"

namespace outback::host {

/// A place in a stream. Shared by the event, the stream that will reach it and the streams that
/// wait for it, so an event may be recorded again, or go, at any time.
class mark {
 public:
  mark();
  /// A place in a capture: it is never reached, and only streams wait for it.
  explicit mark(std::unique_ptr<const capture::place> place);

  /// Called by the stream that reached the mark, once.
  void complete() noexcept;
  bool completed() const noexcept { return done_.load(std::memory_order_acquire) != 0; }
  /// Throws outback::runtime_error in a child process forked before the mark was reached: nobody
  /// will reach it.
  void wait() const;
  /// Throws like `wait`, and returns at once.
  void check_reachable() const;
  /// Null unless the mark was made in a capture.
  const capture::place* place() const noexcept { return place_.get(); }
  /// When the mark was reached, by CLOCK_MONOTONIC in nanoseconds. Only after `completed`.
  int64_t time() const noexcept { return time_; }

 private:
  std::atomic<int> done_{0};  // an int is what a futex waits on
  const uint32_t forks_;
  int64_t time_ = 0;
  const std::unique_ptr<const capture::place> place_;
};

/// May be used from any thread. An event that was recorded in a capture is a place in that, and
/// only streams may wait for it, in the capture: all else throws outback::invalid_argument and
/// breaks it.
class event {
 public:
  /// With `shared`, which other processes see too, that is what it stands for, and there are no
  /// marks.
  event(int32_t device, uint32_t flags, std::shared_ptr<ipc_event> shared = nullptr)
      : device_(device), flags_(flags), shared_(std::move(shared)) {}

  int32_t device() const noexcept { return device_; }
  const ipc_event* shared() const noexcept { return shared_.get(); }

  void record(stream& where);
  /// Makes `waiting` wait, not the caller.
  void wait(stream& waiting) const;
  bool query() const;
  void sync() const;

  /// Nanoseconds between two recordings, nullopt while one is pending. Throws
  /// outback::invalid_argument unless both were created with OUTBACK_EVENT_TIMING and recorded.
  static std::optional<int64_t> elapsed(const event& from, const event& to);

 private:
  std::shared_ptr<mark> current() const;                     // null before the first recording
  std::shared_ptr<mark> uncaptured(const char* what) const;  // throws if that is in a capture

  const int32_t device_;
  const uint32_t flags_;
  const std::shared_ptr<ipc_event> shared_;
  mutable std::mutex mutex_;
  std::shared_ptr<mark> current_;
};

}  // namespace outback::host
