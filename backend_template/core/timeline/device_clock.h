// The times of a device's events on the host's clock.
#pragma once

#include <c10/core/Device.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "outback/runtime.h"

namespace outback::core {

/// Returns the host's clock: nanoseconds since the epoch, as torch's profiler has its times.
int64_t host_now() noexcept;

/// Returns how many nanoseconds of the host's clock one of the device's is, by the time between two
/// looks at both. 1 where they are too near, or the answer too far from that.
double rate_between(int64_t on_host, int64_t on_device) noexcept;

/// Returns an event with timing on `device`, or null if the runtime has none to give.
outback_event make_timed_event(c10::DeviceIndex device) noexcept;
void destroy_timed_event(c10::DeviceIndex device, outback_event made) noexcept;

/// The nanoseconds from one complete event to another, if the runtime tells.
std::optional<int64_t> elapsed_between(outback_event from, outback_event to) noexcept;

/// Two moments that both clocks are known of: the first event of a profile on the device, and one
/// at its end. A moment is known as well as an event on an idle stream is quick: it is recorded and
/// asked for a few times, and the quickest try counts. Between the two the clocks may drift apart.
class device_clock {
 public:
  /// Looks at both clocks for the first time, once: later calls do nothing, and do not wait for the
  /// first. Makes a stream, so that work of the program is not waited for.
  void start(c10::DeviceIndex device) noexcept;
  /// Returns true once `start` has succeeded.
  bool is_started() const noexcept { return state_.load(std::memory_order_acquire) == known; }

  /// Looks at both clocks again. Needs `is_started`, as all below.
  void finish(c10::DeviceIndex device) noexcept;
  /// Returns the nanoseconds from the first moment to a complete event, on the device's clock.
  std::optional<int64_t> since_start(outback_event event) const noexcept;
  /// Returns the time of `since_start` on the host's clock. After `finish`.
  int64_t on_host(int64_t since_start) const noexcept;

  /// Gives back the event and the stream, and begins anew.
  void reset(c10::DeviceIndex device) noexcept;
  /// The same without a slot: they are leaked.
  void forget() noexcept;

 private:
  enum state { unknown, starting, known, failed };

  bool look(c10::DeviceIndex device, outback_event* event, int64_t* host) noexcept;

  std::atomic<state> state_{unknown};
  outback_stream stream_ = nullptr;
  outback_event first_ = nullptr;
  int64_t first_host_ = 0;
  double rate_ = 1;  // nanoseconds of the host's for one of the device's
};

}  // namespace outback::core
