// Ticks and nanoseconds: what a resolution means, and clocks that wrap.
#include "backend_template/runtimes/level_zero/timer.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/level_zero/own_process.hpp"

namespace outback::test_level_zero {
namespace {

using level_zero::make_timer;

TEST(TimerTest, AResolutionIsNanosecondsOrARate) {
  EXPECT_EQ(make_timer(83, false, 36).elapsed(1000, 1100, 0), 8300);
  EXPECT_EQ(make_timer(12'000'000, true, 36).elapsed(1000, 1012, 0), 1000);
  EXPECT_EQ(make_timer(0, true, 36).elapsed(1, 2, 0), 1);  // a driver that does not know
}

TEST(TimerTest, EarlierIsNegative) {
  EXPECT_EQ(make_timer(10, false, 36).elapsed(1100, 1000, 0), -1000);
  EXPECT_EQ(make_timer(10, false, 64).elapsed(1100, 1000, 0), -1000);
}

TEST(TimerTest, AWrapIsNoJump) {
  const auto clock = make_timer(10, false, 36);
  constexpr uint64_t last = (uint64_t{1} << 36) - 1;
  EXPECT_EQ(clock.elapsed(last, 4, 50), 50);
  EXPECT_EQ(clock.elapsed(4, last, -50), -50);
}

TEST(TimerTest, BitsThatAreNotValidMeanNothing) {
  const auto clock = make_timer(10, false, 36);
  EXPECT_EQ(clock.elapsed(uint64_t{0xabc} << 36 | 7, uint64_t{0xdef} << 36 | 9, 0), 20);
}

TEST(TimerTest, TheHostsClockCountsWholeRounds) {
  const auto clock = make_timer(10, false, 8);  // a round is 2560 ns
  EXPECT_EQ(clock.elapsed(10, 20, 100), 100);
  EXPECT_EQ(clock.elapsed(10, 20, 2560 * 3 + 100), 2560 * 3 + 100);
  EXPECT_EQ(clock.elapsed(10, 20, 2560 * 3 + 1000), 2560 * 3 + 100);  // an estimate
  EXPECT_EQ(clock.elapsed(20, 10, -2560 * 2), -2560 * 2 - 100);
}

// Eight steps of a thousand seconds are more than the 5726 that 36 bits at 12 MHz have. Before
// API 1.2 a tick is 83 ns, and not 83 and a third.
void expect_steps_of_a_thousand_seconds() {
  const outback_runtime& t = table();
  const auto advance = &OUTBACK_ZE_CONTROL(outback_ze_advance_clock);
  outback_event from = nullptr, to = nullptr;
  must(t.events->create(t.self, 0, OUTBACK_EVENT_TIMING, &from));
  must(t.events->create(t.self, 0, OUTBACK_EVENT_TIMING, &to));
  for (int step = 0; step < 8; ++step) {
    must(t.events->record(t.self, 0, from, nullptr));
    must(t.device_sync(t.self, 0));
    advance(uint64_t{1000} * 1'000'000'000);
    must(t.events->record(t.self, 0, to, nullptr));
    must(t.device_sync(t.self, 0));
    int64_t ns = 0;
    must(t.events->elapsed(t.self, from, to, &ns));
    EXPECT_NEAR(double(ns), 1e12, 5e9) << step;
    must(t.events->elapsed(t.self, to, from, &ns));
    EXPECT_NEAR(double(ns), -1e12, 5e9) << step;
  }
  must(t.events->destroy(t.self, 0, from));
  must(t.events->destroy(t.self, 0, to));
}

TEST(TimerTest, EventsSurviveAWrap) {
  for (const char* api : {"1.0", "1.3", "1.10"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_API", api}, {"OUTBACK_ZE_TIMER_BITS", "36"}}), {
      EXPECT_EQ(device_count(), 2);
      expect_steps_of_a_thousand_seconds();
    });
  }
}

}  // namespace
}  // namespace outback::test_level_zero
