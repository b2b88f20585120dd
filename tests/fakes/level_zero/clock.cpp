#include "tests/fakes/level_zero/clock.hpp"

#include <atomic>
#include <chrono>

namespace outback::software_ze {
namespace {

std::atomic<uint64_t> skipped{0};

}  // namespace

uint64_t clock_nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) +
         skipped.load(std::memory_order_relaxed);
}

void advance_clock(uint64_t nanoseconds) {
  skipped.fetch_add(nanoseconds, std::memory_order_relaxed);
}

uint64_t clock_ticks() {
  // Divided first: the product of a month's nanoseconds and 12 would not fit otherwise for long.
  const uint64_t now = clock_nanoseconds();
  return now / 1000 * 12 + now % 1000 * 12 / 1000;
}

}  // namespace outback::software_ze
