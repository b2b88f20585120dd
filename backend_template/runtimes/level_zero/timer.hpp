// Converts the clock of a device, which counts ticks and wraps, into nanoseconds. Elapsed times of
// events need it.
#pragma once

#include <cstdint>

namespace outback::level_zero {

/// What the driver says of a device's clock.
struct timer {
  double ns_per_tick = 1;
  uint32_t valid_bits = 64;  // the low bits of a count that mean something

  /// Returns the nanoseconds from tick count `from` to `to`, negative if `to` was earlier.
  ///
  /// A count of 36 bits at 83 ns a tick wraps after 95 minutes. `estimate`, in nanoseconds, tells
  /// how often it did: it is the time on the host's clock between the two calls that asked for the
  /// counts, and must be wrong by less than half of the time in which the count wraps.
  int64_t elapsed(uint64_t from, uint64_t to, int64_t estimate) const;
};

/// Makes a timer of the driver's numbers. `resolution` is timerResolution: cycles per second if
/// `is_rate`, which is so for the structure of API 1.2, and nanoseconds per cycle before. 0 for
/// `valid_bits` means all 64.
timer make_timer(uint64_t resolution, bool is_rate, uint32_t valid_bits);

}  // namespace outback::level_zero
