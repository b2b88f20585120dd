// The captures that are open in this process: which streams they hold, which pool serves the
// allocations on these streams, why a capture broke, and which work waits for its end. The registry
// has one entry and one lock per device: a capture concerns only the devices whose streams are in
// it.
//
// Include this header where work must behave differently while a graph is captured: the allocator,
// streams and events, random numbers, and the operators that are recorded. The runtime knows its
// captures too (graphs.status), but core asks this registry, since it is cheap and knows the pool.
// All functions here are thread-safe. In a forked child of a started process no capture is open:
// the captures stay with the parent.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>
#include <c10/macros/Macros.h>

#include <array>
#include <atomic>
#include <bitset>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backend_template/core/captures/capture_rollback.h"
#include "backend_template/core/devices/device.h"

namespace outback::core {

class held_host_memory;
class host_program;

/// One capture, from its begin to its end. The registry and its callers share the object.
/// Thread-safe.
class capture {
 public:
  struct properties {
    c10::Stream first;      // where the capture began
    c10::MempoolId_t pool;  // the memory pool of the graph
    bool pool_is_fresh;     // nothing was allocated from the pool before this capture
    /// Records the operators that CPU kernels serve. If null, such operators cannot be recorded.
    std::shared_ptr<host_program> program = nullptr;
    /// The thread whose operators the program takes (recording.h). 0 without a program.
    uint64_t recorded_by = 0;
    /// Makes the graph keep the pool on a device. Called before the first stream of that device
    /// joins the capture; two threads may call it for one device at once. If it throws, the stream
    /// does not join. May be empty.
    std::function<void(c10::DeviceIndex)> hold_pool = nullptr;
    /// The pool's memory does not go back to the runtime while this pointer has an owner.
    std::shared_ptr<void> pool_owner = nullptr;
    /// Holds the pinned memory that captured copies use. If null, no object holds that memory.
    std::shared_ptr<held_host_memory> host_memory = nullptr;
  };
  explicit capture(properties of) : of_(std::move(of)) {}

  /// Returns the stream on which the capture began, and on which it must end.
  const c10::Stream& stream() const noexcept { return of_.first; }
  /// Returns the pool from which allocations on the capture's streams come.
  c10::MempoolId_t pool() const noexcept { return of_.pool; }
  /// Returns `properties::pool_owner`.
  const std::shared_ptr<void>& pool_owner() const noexcept { return of_.pool_owner; }
  /// Returns true if nothing was allocated from the pool before this capture. Then the pool has no
  /// memory whose content must be restored.
  bool pool_is_fresh() const noexcept { return of_.pool_is_fresh; }
  /// Returns `properties::host_memory`.
  held_host_memory* host_memory() const noexcept { return of_.host_memory.get(); }
  /// Returns the program or null. The program lives at least as long as this object.
  host_program* program() const noexcept { return of_.program.get(); }
  /// Returns true if this capture records the operators of that thread (recording.h).
  bool records_for(uint64_t thread) const noexcept {
    return thread != 0 && of_.recorded_by == thread;
  }
  /// Returns the saved memory that the end of the capture restores.
  capture_rollback& rollback() noexcept { return rollback_; }

  /// Marks the capture as broken: its end throws `why` and makes no graph. The first reason stays.
  void break_off(const std::string& why);
  /// Returns the reason of `break_off`, or "" while the capture is whole.
  std::string problem() const;

  /// Prepares the capture for a stream of the device, as `properties::hold_pool` says. Throws what
  /// `hold_pool` throws.
  void spread_to(c10::DeviceIndex device);

 private:
  friend class capture_registry;

  const properties of_;
  capture_rollback rollback_;
  mutable std::mutex mutex_;
  std::string problem_;
  bool is_over_ = false;
  std::bitset<max_devices> devices_;  // which have, or had, streams in it
};

namespace detail {
// For one device: the number of its streams that are in a capture now, and the number of times that
// a stream entered a capture. Only capture.cpp writes the two counts. It derives `now` from its
// list of such streams, and adds one while it does deferred work.
struct captured_streams {
  std::atomic<uint64_t> now{0};
  std::atomic<uint64_t> ever{0};
};
inline constinit std::array<captured_streams, max_devices> captured{};
}  // namespace detail

/// Returns true if a stream of the device is in a capture, or if work that waited for the end of
/// the last capture there (`defer_past_captures`) is not done yet. `device` must be a valid index.
/// Costs one load, so the allocator may call this function for every request.
inline bool any_capture(c10::DeviceIndex device) noexcept {
  const auto& streams = detail::captured[static_cast<size_t>(device)].now;
  return C10_UNLIKELY(streams.load(std::memory_order_acquire) != 0);
}

/// Returns how often a stream of the device has entered a capture. To make sure that no capture was
/// open during some work: call this function, call `defer_past_captures`, which must return false,
/// do the work, call this function again and compare the two results.
inline uint64_t captures_so_far(c10::DeviceIndex device) noexcept {
  return detail::captured[static_cast<size_t>(device)].ever.load(std::memory_order_acquire);
}

/// Returns the capture of the stream, or null.
std::shared_ptr<capture> capture_of(const c10::Stream& stream);
/// Returns one of the captures that have a stream of the device, or null.
std::shared_ptr<capture> capture_on(c10::DeviceIndex device);

/// Returns true if an open capture records the operators of `thread` (recording.h). For 0, returns
/// true if an open capture records the operators of any thread.
bool any_capture_records(uint64_t thread) noexcept;

/// If a stream of the device is in a capture, keeps `work` and returns true; otherwise returns
/// false. The thread that ends the last capture on the device calls `work`, with no lock held;
/// `work` must not throw. The decision holds the lock under which captures end, so work that is
/// kept is always called. Throws std::bad_alloc.
bool defer_past_captures(c10::DeviceIndex device, std::function<void()> work);

/// Keeps a capture open while this object lives. The destructor takes all streams out of the
/// capture, and does the deferred work of each device that is then in no capture.
class open_capture {
 public:
  /// Enters the first stream. device_graph constructs this object before it calls the runtime's
  /// graphs.begin.
  explicit open_capture(std::shared_ptr<capture> opened);
  open_capture(const open_capture&) = delete;
  open_capture& operator=(const open_capture&) = delete;
  ~open_capture();

  const std::shared_ptr<capture>& operator*() const noexcept { return opened_; }
  capture* operator->() const noexcept { return opened_.get(); }

 private:
  const std::shared_ptr<capture> opened_;
};

/// Enters `stream` into `open`, because it waited for an event of that capture. Does nothing if the
/// capture has ended, or if the stream is in a capture already. Call `spread_to` first.
void join_capture(const std::shared_ptr<capture>& open, const c10::Stream& stream);

/// Throws c10::Error (RuntimeError): "operation not permitted when a stream is capturing: <what>".
/// Unless `broken` is null, first calls its `break_off` with that text.
[[noreturn]] void refuse_in_capture(capture* broken, const std::string& what);

}  // namespace outback::core
