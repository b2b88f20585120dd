// The captures that are open: which streams are in one, which pool serves their allocations, and
// what broke them. A capture concerns the devices whose streams are in it, and no others.
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

/// One capture, from its begin to its end. Thread-safe.
class capture {
 public:
  /// `program` is null where operators that run on the CPU's kernels cannot be recorded.
  /// `pool_is_fresh`: nothing was allocated from the pool before.
  capture(const c10::Stream& first, c10::MempoolId_t pool, bool pool_is_fresh,
          std::shared_ptr<host_program> program);

  /// The stream of the begin.
  const c10::Stream& stream() const noexcept { return first_; }
  c10::MempoolId_t pool() const noexcept { return pool_; }
  bool pool_is_fresh() const noexcept { return pool_is_fresh_; }
  host_program* program() const noexcept { return program_.get(); }
  capture_rollback& rollback() noexcept { return rollback_; }

  /// There will be no graph. The first reason stays.
  void break_off(const std::string& why);
  /// "" while there can be a graph.
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
struct captured_streams {
  std::atomic<int> now{0};
  std::atomic<uint64_t> ever{0};
};
extern constinit std::array<captured_streams, max_devices> captured;
}  // namespace detail

/// A stream of the device is in a capture. One load.
inline bool any_capture(c10::DeviceIndex device) noexcept {
  const auto& streams = detail::captured[static_cast<size_t>(device)].now;
  return C10_UNLIKELY(streams.load(std::memory_order_acquire) != 0);
}

/// How often a stream of the device entered a capture. Where `any_capture` is false after this was
/// asked, and this is the same later, there was no capture in between.
inline uint64_t captures_so_far(c10::DeviceIndex device) noexcept {
  return detail::captured[static_cast<size_t>(device)].ever.load(std::memory_order_acquire);
}

/// Null for a stream that is in none. The functions here are thread-safe.
std::shared_ptr<capture> capture_of(const c10::Stream& stream);
/// One of the captures of the device, or null.
std::shared_ptr<capture> capture_on(c10::DeviceIndex device);

/// `it`'s first stream is in it from now on; all streams that joined leave with `close_capture`.
void open_capture(const std::shared_ptr<capture>& it);
/// `stream` is in it too, from now on. Nothing when `it` was closed.
void join_capture(const std::shared_ptr<capture>& it, const c10::Stream& stream);
void close_capture(const std::shared_ptr<capture>& it) noexcept;

/// Breaks the capture, if it is one, and throws c10::Error: `what` cannot be done while a stream is
/// capturing.
[[noreturn]] void refuse_in_capture(capture* broken, const std::string& what);

}  // namespace outback::core
