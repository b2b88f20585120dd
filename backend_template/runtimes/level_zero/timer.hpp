// The clock of a device, in ticks that wrap, and nanoseconds.
#pragma once

#include <cstdint>

namespace outback::level_zero {

struct timer {
  double ns_per_tick = 1;
  uint32_t valid_bits = 64;  // of a tick count; the others mean nothing

  /// From tick count `from` to `to`, in nanoseconds; negative where `to` was earlier.
  ///
  /// A count of 36 bits at 83 ns wraps after 95 minutes. `estimate`, in nanoseconds, says how often
  /// it did: the host's clock between the two calls that asked for the counts. It must be right to
  /// half of that.
  int64_t elapsed(uint64_t from, uint64_t to, int64_t estimate) const;
};

/// What `timerResolution` means depends on the structure that it was asked with: cycles a second
/// since API 1.2, nanoseconds a cycle before.
timer make_timer(uint64_t resolution, bool is_rate, uint32_t valid_bits);

}  // namespace outback::level_zero
