// An event of the host runtime. Each recording of an event makes a new mark, and the event stands
// for its last mark. An event that other processes share has shared_recordings instead of marks.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "backend_template/runtimes/host/stream.hpp"
#include "backend_template/runtimes/shared_recordings.hpp"

namespace outback::host {

/// A place in a stream's order of work, which the stream reaches once. The event, the stream that
/// will reach the mark and the streams that wait for it share the mark by shared_ptr, so the event
/// may be recorded again or destroyed at any time. May be used from any thread.
class mark {
 public:
  /// Makes a mark that some stream will complete.
  mark();
  /// Makes a mark for a place in a capture. Such a mark is never completed, and only streams may
  /// wait for it.
  explicit mark(std::unique_ptr<const capture::place> place);

  /// Stores the time, completes the mark and wakes all waiting threads. The stream that reached the
  /// mark calls this once.
  void complete() noexcept;
  bool completed() const noexcept { return done_.load(std::memory_order_acquire) != 0; }
  /// Blocks the calling thread until the mark is completed. Throws outback::runtime_error in a
  /// child that was forked before the mark was completed, because the stream that completes the
  /// mark is in the parent.
  void wait() const;
  /// Throws if `wait` would throw, without waiting.
  void check_reachable() const;
  /// Connects the mark to late failures of the stream that will complete it. Call this before you
  /// pass the mark to the stream.
  void watch(std::shared_ptr<late_failure> failure) { failure_ = std::move(failure); }
  /// If work before the mark failed late and the failure was not reported yet, throws the failure.
  /// Call this after the mark is completed.
  void tell_failure() const {
    if (failed_before_) failure_->tell();
  }
  /// Returns the place in a capture; null for an ordinary mark. The place lives as long as the
  /// mark.
  const capture::place* place() const noexcept { return place_.get(); }
  /// Returns when the mark was completed, in nanoseconds of CLOCK_MONOTONIC. Meaningful only if
  /// `completed` is true.
  int64_t time() const noexcept { return time_; }

 private:
  std::atomic<int> done_{0};  // 0 or 1; an int, because a futex waits on 32 bits
  const uint32_t forks_;      // fork_count() when the mark was made
  int64_t time_ = 0;
  bool failed_before_ = false;
  std::shared_ptr<late_failure> failure_;
  const std::unique_ptr<const capture::place> place_;
};

/// An outback_event points to this. May be used from any thread.
///
/// After a recording in a capture the event stands for a place in that capture. Then only streams
/// of the capture may wait for the event; `query`, `sync` and `elapsed` throw
/// outback::invalid_argument and break the capture.
class event {
 public:
  /// Makes an event of device number `device`; `flags` are OUTBACK_EVENT_* bits. With `shared` the
  /// event belongs to several processes, and makes no marks.
  event(int32_t device, uint32_t flags, std::shared_ptr<shared_recordings> shared = nullptr)
      : device_(device), flags_(flags), shared_(std::move(shared)) {}

  int32_t device() const noexcept { return device_; }
  /// Returns the part that other processes see; null for an ordinary event.
  const shared_recordings* shared() const noexcept { return shared_.get(); }

  /// Makes the event stand for the present work of `where`. Does not wait: on an idle stream the
  /// event is complete at once, otherwise the stream completes it later. Throws the same as
  /// `stream::enqueue`; then an ordinary event keeps its old recording. In a capture, refuses an
  /// event of several processes, which breaks the capture.
  void record(stream& where);
  /// Makes later work of `waiting` wait for the event's present recording. The caller does not
  /// wait. If the event was recorded in a capture, `waiting` becomes a part of that capture. If
  /// `waiting` is in a capture and the event was recorded outside of that capture, breaks the
  /// capture and throws outback::invalid_argument. Throws outback::runtime_error in a forked child.
  void wait(stream& waiting) const;
  /// Returns whether the event's work is done; true for an event that was never recorded. Throws a
  /// late failure of that work, unless it was reported already.
  bool query() const;
  /// Blocks the caller until `query` would be true. Throws the same as `query` and `mark::wait`.
  void sync() const;

  /// Returns the nanoseconds between two recordings, negative if `to` was reached first; nullopt
  /// while one of the recordings is pending. Throws outback::invalid_argument unless both events
  /// belong to one device, were created with OUTBACK_EVENT_TIMING and were recorded.
  static std::optional<int64_t> elapsed(const event& from, const event& to);

 private:
  void record_shared(stream& where);
  std::shared_ptr<mark> current() const;                     // null before a recording
  std::shared_ptr<mark> uncaptured(const char* what) const;  // throws if it is in a capture

  const int32_t device_;
  const uint32_t flags_;
  const std::shared_ptr<shared_recordings> shared_;
  mutable std::mutex mutex_;
  std::shared_ptr<mark> current_;
};

}  // namespace outback::host
