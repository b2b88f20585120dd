// The captures that are open in this process: which streams are in one, which pool serves their
// allocations, what broke them, and what waits for their end. All of it is kept by device, each
// with a lock of its own: a capture concerns the devices whose streams are in it, and no others.
//
// Include it where work must behave differently while a graph is captured: the allocator, streams
// and events, random numbers, and the operators that are recorded. The runtime keeps its own idea
// of a capture (graphs.status); this registry is what core asks, since it is cheap and knows the
// pool. All functions here are thread-safe. In a forked child of a started process no capture is
// open: those of the parent are the parent's.
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

/// One capture, from its begin to its end. The registry and whoever asked for it share it.
/// Thread-safe.
class capture {
 public:
  struct properties {
    c10::Stream first;      // the stream of the begin
    c10::MempoolId_t pool;  // the memory pool of the graph
    bool pool_is_fresh;     // nothing was allocated from the pool before this capture
    /// Takes the operators that CPU kernels serve. Null: they cannot be recorded.
    std::shared_ptr<host_program> program = nullptr;
    /// The thread whose operators the program takes (recording.h). 0 without a program.
    uint64_t recorded_by = 0;
    /// Is called before a stream of a device that the capture was not on yet joins it, and sees to
    /// it that the graph keeps the pool there. May be called twice for one device, by two threads
    /// at once. What it throws leaves the stream outside. Empty: does nothing.
    std::function<void(c10::DeviceIndex)> hold_pool = nullptr;
    /// While somebody holds it, the pool's memory does not go back to the runtime.
    std::shared_ptr<void> pool_owner = nullptr;
    /// Holds the pinned memory that captured copies use. Null: nobody does.
    std::shared_ptr<held_host_memory> host_memory = nullptr;
  };
  explicit capture(properties of) : of_(std::move(of)) {}

  /// Returns the stream on which the capture began, and has to end.
  const c10::Stream& stream() const noexcept { return of_.first; }
  /// Returns the pool from which allocations on the capture's streams come.
  c10::MempoolId_t pool() const noexcept { return of_.pool; }
  /// Returns `properties::pool_owner`.
  const std::shared_ptr<void>& pool_owner() const noexcept { return of_.pool_owner; }
  /// Returns true if memory of the pool held nothing before this capture, so that nothing of it has
  /// to be put back.
  bool pool_is_fresh() const noexcept { return of_.pool_is_fresh; }
  /// Returns `properties::host_memory`.
  held_host_memory* host_memory() const noexcept { return of_.host_memory.get(); }
  /// Returns the program or null. It lives at least as long as this object.
  host_program* program() const noexcept { return of_.program.get(); }
  /// Returns true if this capture records the operators of that thread (recording.h).
  bool records_for(uint64_t thread) const noexcept {
    return thread != 0 && of_.recorded_by == thread;
  }
  /// Returns what has to be put back at the end of the capture.
  capture_rollback& rollback() noexcept { return rollback_; }

  /// Marks the capture as broken: its end throws `why` and makes no graph. The first reason stays.
  void break_off(const std::string& why);
  /// Returns the reason of `break_off`, or "" while the capture is whole.
  std::string problem() const;

  /// Prepares the capture for a stream of the device, as `properties::hold_pool` says. Throws what
  /// that throws.
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
// Of one device: how many of its streams are in a capture now, and how often one entered a capture.
// Only capture.cpp writes them, and `now` always from the list of those streams.
struct captured_streams {
  std::atomic<uint64_t> now{0};
  std::atomic<uint64_t> ever{0};
};
inline constinit std::array<captured_streams, max_devices> captured{};
}  // namespace detail

/// Returns true if a stream of the device is in a capture, or what has waited for the last capture
/// on the device has not been done yet. `device` must be a valid index. Costs one load, so that the
/// allocator may ask on every call.
inline bool any_capture(c10::DeviceIndex device) noexcept {
  const auto& streams = detail::captured[static_cast<size_t>(device)].now;
  return C10_UNLIKELY(streams.load(std::memory_order_acquire) != 0);
}

/// Returns how often a stream of the device has entered a capture. To make sure that no capture was
/// open while some work was done: call this function, then `defer_past_captures`, which has to
/// return false, do the work, and compare with this function's result afterwards.
inline uint64_t captures_so_far(c10::DeviceIndex device) noexcept {
  return detail::captured[static_cast<size_t>(device)].ever.load(std::memory_order_acquire);
}

/// Returns the capture that the stream is in, or null.
std::shared_ptr<capture> capture_of(const c10::Stream& stream);
/// Returns one of the captures that have a stream of the device, or null.
std::shared_ptr<capture> capture_on(c10::DeviceIndex device);

/// Returns true if an open capture records the operators of that thread (recording.h); of any
/// thread for 0.
bool any_capture_records(uint64_t thread) noexcept;

/// Keeps `work` and returns true if a stream of the device is in a capture. Whoever ends the last
/// capture there calls it, on that thread and with no lock held; it must not throw. Otherwise
/// returns false and keeps nothing. Decided under the lock under which captures end, so nothing is
/// kept that nobody would call. Throws std::bad_alloc.
bool defer_past_captures(c10::DeviceIndex device, std::function<void()> work);

/// Keeps a capture open while it lives. Its end takes all streams of the capture out of it, and
/// does what has waited on devices that are in no capture then.
class open_capture {
 public:
  /// Enters the first stream. device_graph makes one before the runtime's own begin.
  explicit open_capture(std::shared_ptr<capture> opened);
  open_capture(const open_capture&) = delete;
  open_capture& operator=(const open_capture&) = delete;
  ~open_capture();

  const std::shared_ptr<capture>& operator*() const noexcept { return opened_; }
  capture* operator->() const noexcept { return opened_.get(); }

 private:
  const std::shared_ptr<capture> opened_;
};

/// Enters `stream` into `open` too, after it waited for an event of that capture. Does nothing if
/// the capture has ended, or if the stream is in one already. `spread_to` comes before.
void join_capture(const std::shared_ptr<capture>& open, const c10::Stream& stream);

/// Throws c10::Error (RuntimeError): "operation not permitted when a stream is capturing: <what>".
/// Breaks the capture `broken` off for that reason, unless `broken` is null.
[[noreturn]] void refuse_in_capture(capture* broken, const std::string& what);

}  // namespace outback::core
