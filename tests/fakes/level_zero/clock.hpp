// The clock of the devices: 12 MHz, of which so many bits count as OUTBACK_ZE_TIMER_BITS says.
#pragma once

#include <cstdint>

namespace outback::software_ze {

inline constexpr uint64_t clock_hertz = 12'000'000;
inline constexpr uint64_t clock_resolution_ns = 83;  // as Intel's driver says it: rounded down
inline constexpr uint32_t kernel_timestamp_bits = 32;

/// CLOCK_MONOTONIC in nanoseconds, plus what was skipped.
uint64_t clock_nanoseconds();
void advance_clock(uint64_t nanoseconds);

constexpr uint64_t low_bits(uint64_t value, uint32_t bits) {
  return bits >= 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

/// All 64 bits of the clock now.
uint64_t clock_ticks();

}  // namespace outback::software_ze
