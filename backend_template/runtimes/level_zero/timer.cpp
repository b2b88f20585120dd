#include "backend_template/runtimes/level_zero/timer.hpp"

#include <cmath>

namespace outback::level_zero {

timer make_timer(uint64_t resolution, bool is_rate, uint32_t valid_bits) {
  timer made;
  if (resolution != 0) made.ns_per_tick = is_rate ? 1e9 / double(resolution) : double(resolution);
  if (valid_bits != 0 && valid_bits < 64) made.valid_bits = valid_bits;
  return made;
}

int64_t timer::elapsed(uint64_t from, uint64_t to, int64_t estimate) const {
  // The shorter way around the circle, as a signed number: shifting up and down extends the sign of
  // the valid bits.
  const uint32_t unused = 64 - valid_bits;
  int64_t ticks = int64_t((to - from) << unused) >> unused;
  // Adds the whole turns that the estimate tells of. A count of 60 bits or more does not wrap in
  // the life of a process.
  if (valid_bits < 60) {
    const int64_t period = int64_t{1} << valid_bits;
    const double off = double(estimate) - double(ticks) * ns_per_tick;
    ticks += std::llround(off / (double(period) * ns_per_tick)) * period;
  }
  return std::llround(double(ticks) * ns_per_tick);
}

}  // namespace outback::level_zero
