// Converts the clock of a device, which counts ticks and wraps around, into nanoseconds, for
// elapsed times of events.
#pragma once

#include <cstdint>

namespace outback::level_zero {

/// The driver's description of a device's clock.
struct timer {
  double ns_per_tick = 1;
  uint32_t valid_bits = 64;  // the number of low bits of a count that are valid

  /// Returns the nanoseconds from tick count `from` to `to`, negative if `to` was earlier.
  ///
  /// A count of 36 bits at 83 ns a tick wraps around after 95 minutes. `estimate`, in nanoseconds,
  /// is the time on the host's clock between the two calls that asked for the counts. It determines
  /// how often the count has wrapped, and its error must be less than half the time of one wrap.
  int64_t elapsed(uint64_t from, uint64_t to, int64_t estimate) const;
};

/// Makes a timer from the driver's numbers. `resolution` is timerResolution: cycles per second if
/// `is_rate`, as in the structure of API 1.2, otherwise nanoseconds per cycle, as in older
/// structures. 0 for `valid_bits` means all 64.
timer make_timer(uint64_t resolution, bool is_rate, uint32_t valid_bits);

}  // namespace outback::level_zero
