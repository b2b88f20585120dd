// Converts the times of a device's events to the host's clock.
#pragma once

#include <c10/core/Device.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "outback/runtime.h"

namespace outback::core {

/// Returns the host's clock: nanoseconds since the epoch, as in torch's profiler.
int64_t host_now() noexcept;

/// Returns the length of one nanosecond of the device's clock in nanoseconds of the host's clock.
/// The arguments are the times between two readings of both clocks, in nanoseconds. Returns 1 if
/// the readings are too close, or if the result would be too far from 1.
double rate_between(int64_t on_host, int64_t on_device) noexcept;

/// Returns a new event with timing on `device`, or null if the runtime cannot make one.
outback_event make_timed_event(c10::DeviceIndex device) noexcept;
void destroy_timed_event(c10::DeviceIndex device, outback_event made) noexcept;

/// Returns the nanoseconds from one complete event to another, or std::nullopt if the runtime
/// cannot tell.
std::optional<int64_t> elapsed_between(outback_event from, outback_event to) noexcept;

/// Reads both clocks at two moments: at the first event of a profile on the device, and at the
/// profile's end. Between the two moments the clocks may drift apart. For each reading it records
/// an event on an idle stream and waits for it, a few times, and takes the quickest try, which is
/// the most exact.
class device_clock {
 public:
  /// Reads both clocks for the first time. Only the first call does so: later calls do nothing, and
  /// do not wait for the first. Makes a stream of its own, so that it need not wait for the
  /// program's work.
  void start(c10::DeviceIndex device) noexcept;
  /// Returns true once `start` has succeeded.
  bool is_started() const noexcept { return state_.load(std::memory_order_acquire) == known; }

  /// Reads both clocks again. This function and those below need `is_started`.
  void finish(c10::DeviceIndex device) noexcept;
  /// Returns the nanoseconds from the first moment to a complete event, on the device's clock.
  std::optional<int64_t> since_start(outback_event event) const noexcept;
  /// Converts a result of `since_start` to the host's clock. Call it after `finish`.
  int64_t on_host(int64_t since_start) const noexcept;

  /// Destroys the event and the stream; then `start` may be called again.
  void reset(c10::DeviceIndex device) noexcept;
  /// Does the same but calls no slot: leaks the event and the stream.
  void forget() noexcept;

 private:
  enum state { unknown, starting, known, failed };

  bool look(c10::DeviceIndex device, outback_event* event, int64_t* host) noexcept;

  std::atomic<state> state_{unknown};
  outback_stream stream_ = nullptr;
  outback_event first_ = nullptr;
  int64_t first_host_ = 0;
  double rate_ = 1;  // host nanoseconds per device nanosecond
};

}  // namespace outback::core
