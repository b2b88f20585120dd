// The captures that are open in this process: which streams are in one, which pool serves their
// allocations, and what broke them. A capture concerns the devices whose streams are in it, and no
// others.
//
// Include it where work must behave differently while a graph is captured: the allocator, streams
// and events, random numbers, and the operators that are recorded. The runtime keeps its own idea
// of a capture (graphs.status); this registry is what core asks, since it is cheap and knows the
// pool. All functions here are thread-safe.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>
#include <c10/macros/Macros.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/graphs/capture_rollback.h"

namespace outback::core {

class host_program;

/// One capture, from its begin to its end. The registry and whoever asked for it share it.
/// Thread-safe.
class capture {
 public:
  /// `first` is the stream of the begin, `pool` the memory pool of the graph. `pool_is_fresh` says
  /// that nothing was allocated from the pool before this capture. `program` takes the operators
  /// that CPU kernels serve; it is null if they cannot be recorded (records_host_operators).
  capture(const c10::Stream& first, c10::MempoolId_t pool, bool pool_is_fresh,
          std::shared_ptr<host_program> program);

  /// Returns the stream on which the capture began, and has to end.
  const c10::Stream& stream() const noexcept { return first_; }
  /// Returns the pool from which allocations on the capture's streams come.
  c10::MempoolId_t pool() const noexcept { return pool_; }
  /// Returns true if memory of the pool held nothing before this capture, so that nothing of it has
  /// to be put back.
  bool pool_is_fresh() const noexcept { return pool_is_fresh_; }
  /// Returns the program or null. It lives at least as long as this object.
  host_program* program() const noexcept { return program_.get(); }
  /// Returns what has to be put back at the end of the capture.
  capture_rollback& rollback() noexcept { return rollback_; }

  /// Marks the capture as broken: its end throws `why` and makes no graph. The first reason stays.
  void break_off(const std::string& why);
  /// Returns the reason of `break_off`, or "" while the capture is whole.
  std::string problem() const;

 private:
  const c10::Stream first_;
  const c10::MempoolId_t pool_;
  const bool pool_is_fresh_;
  const std::shared_ptr<host_program> program_;
  capture_rollback rollback_;
  mutable std::mutex mutex_;
  std::string problem_;
};

namespace detail {
// Of one device: how many of its streams are in a capture now, and how often one entered a capture.
struct captured_streams {
  std::atomic<int> now{0};
  std::atomic<uint64_t> ever{0};
};
extern constinit std::array<captured_streams, max_devices> captured;
}  // namespace detail

/// Returns true if a stream of the device is in a capture. `device` must be a valid index. Costs
/// one load, so that the allocator may ask on every call.
inline bool any_capture(c10::DeviceIndex device) noexcept {
  const auto& streams = detail::captured[static_cast<size_t>(device)].now;
  return C10_UNLIKELY(streams.load(std::memory_order_acquire) != 0);
}

/// Returns how often a stream of the device has entered a capture. To make sure that no capture was
/// open while some work was done: call this function, then `any_capture`, which has to return
/// false, do the work, and compare with this function's result afterwards.
inline uint64_t captures_so_far(c10::DeviceIndex device) noexcept {
  return detail::captured[static_cast<size_t>(device)].ever.load(std::memory_order_acquire);
}

/// Returns the capture that the stream is in, or null.
std::shared_ptr<capture> capture_of(const c10::Stream& stream);
/// Returns one of the captures that have a stream of the device, or null.
std::shared_ptr<capture> capture_on(c10::DeviceIndex device);

/// Enters the first stream of `open` into the registry. device_graph calls it before the runtime's
/// own begin.
void open_capture(const std::shared_ptr<capture>& open);
/// Enters `stream` into `open` too, after it waited for an event of that capture. Does nothing if
/// `open` was closed meanwhile, or if the stream is in a capture already.
void join_capture(const std::shared_ptr<capture>& open, const c10::Stream& stream);
/// Takes all streams of `open` out of the registry.
void close_capture(const std::shared_ptr<capture>& open) noexcept;

/// Throws c10::Error (RuntimeError): "operation not permitted when a stream is capturing: <what>".
/// Breaks the capture `broken` off for that reason, unless `broken` is null.
[[noreturn]] void refuse_in_capture(capture* broken, const std::string& what);

}  // namespace outback::core
