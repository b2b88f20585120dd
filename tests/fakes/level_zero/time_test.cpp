// The devices' clock: its unit, its bits, and that it wraps.
#include <chrono>

#include "tests/fakes/level_zero/client.hpp"

namespace outback::software_ze {
namespace {

class TimeTest : public testing::driver_test {
 protected:
  void SetUp() override {
    driver_test::SetUp();
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    ASSERT_SUCCESS(ZE(zeDeviceGetProperties)(devices[0], &properties));
    bits = properties.timestampValidBits;
    mask = bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
  }

  uint64_t now() {
    uint64_t host = 0, on_device = 0;
    EXPECT_SUCCESS(ZE(zeDeviceGetGlobalTimestamps)(devices[0], &host, &on_device));
    return on_device;
  }

  /// Ticks since the test began, at least: the host's own clock, so that a slow machine fails
  /// nothing.
  uint64_t ticks_so_far() const {
    const auto passed = std::chrono::steady_clock::now() - start;
    return static_cast<uint64_t>(std::chrono::nanoseconds(passed).count()) * 12 / 1000;
  }

  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  uint32_t bits = 0;
  uint64_t mask = 0;
};

TEST_F(TimeTest, ASecondIsTwelveMillionTicks) {
  const uint64_t before = now();
  CONTROL(outback_ze_advance_clock)(1'000'000'000);
  const uint64_t ticks = (now() - before) & mask;
  EXPECT_GE(ticks, 12'000'000u);
  EXPECT_LE(ticks, 12'000'000u + ticks_so_far() + 2);
}

TEST_F(TimeTest, TheClockWrapsAtItsValidBits) {
  if (bits > 40) GTEST_SKIP() << "needs a clock that wraps within a test's time";
  const uint64_t wrap_ns = (mask + 1) / 12 * 1000;
  const uint64_t before = now();
  CONTROL(outback_ze_advance_clock)(wrap_ns - wrap_ns / 4);
  const uint64_t after = now();
  CONTROL(outback_ze_advance_clock)(wrap_ns / 2);
  const uint64_t late = now();
  EXPECT_LE(after, mask);
  EXPECT_TRUE(after < before || late < after) << before << ' ' << after << ' ' << late;
  const uint64_t quarter = (mask + 1) / 4, ticks = (late - before) & mask;
  EXPECT_GE(ticks, quarter - 100) << "of skips that are whole microseconds";
  EXPECT_LE(ticks, quarter + ticks_so_far() + 2);
}

TEST_F(TimeTest, TimestampsAreWrittenInOrder) {
  auto* times = reinterpret_cast<uint64_t*>(host_memory(16));
  const auto list = immediate_list();
  EXPECT_SUCCESS(ZE(zeCommandListAppendWriteGlobalTimestamp)(list, times, nullptr, 0, nullptr));
  wait_for(list);
  CONTROL(outback_ze_advance_clock)(10'000'000);
  EXPECT_SUCCESS(ZE(zeCommandListAppendWriteGlobalTimestamp)(list, times + 1, nullptr, 0, nullptr));
  wait_for(list);
  const uint64_t ticks = (times[1] - times[0]) & mask;
  EXPECT_GE(ticks, 120'000u);
  EXPECT_LE(ticks, 120'000u + ticks_so_far() + 2);
  const bool noise = std::getenv("OUTBACK_ZE_ADVERSARIAL") != nullptr;
  EXPECT_EQ(((times[0] | times[1]) & ~mask) != 0, noise) << "bits that mean nothing";
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  free_memory(times);
}

TEST_F(TimeTest, EventsKnowWhenTheirCommandRan) {
  const auto pool =
      event_pool(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP);
  auto done = event(pool);
  const auto list = immediate_list();
  auto* memory = device_memory(1 << 20);
  const char one = 1;
  ze_kernel_timestamp_result_t times{};
  EXPECT_EQ(ZE(zeEventQueryKernelTimestamp)(done, &times), ZE_RESULT_NOT_READY);
  EXPECT_SUCCESS(
      ZE(zeCommandListAppendMemoryFill)(list, memory, &one, 1, 1 << 20, done, 0, nullptr));
  EXPECT_SUCCESS(ZE(zeEventHostSynchronize)(done, testing::forever));
  EXPECT_SUCCESS(ZE(zeEventQueryKernelTimestamp)(done, &times));
  EXPECT_LE(times.global.kernelEnd, 0xffffffffu);
  EXPECT_LT((times.global.kernelEnd - times.global.kernelStart) & 0xffffffffu, ticks_so_far() + 2);
  auto* results = reinterpret_cast<ze_kernel_timestamp_result_t*>(host_memory(sizeof times));
  EXPECT_SUCCESS(ZE(zeCommandListAppendQueryKernelTimestamps)(list, 1, &done, results, nullptr,
                                                              nullptr, 0, nullptr));
  wait_for(list);
  EXPECT_EQ(results->global.kernelEnd, times.global.kernelEnd);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  EXPECT_SUCCESS(ZE(zeEventDestroy)(done));
  EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
  free_memory(memory);
  free_memory(results);
}

}  // namespace
}  // namespace outback::software_ze
