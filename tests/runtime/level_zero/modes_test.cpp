// What keeps the order of a stream, and what of a newer API is used: as loader and driver have it.
#include <gtest/gtest.h>

#include "tests/runtime/level_zero/own_process.hpp"

namespace outback::test_level_zero {
namespace {

// Barriers behind ten fills, which nothing waits for.
uint64_t barriers_of_ten_fills() {
  const outback_runtime& t = table();
  void* ptr = nullptr;
  must(t.mem_alloc(t.self, 0, 4096, &ptr));
  const uint64_t before = calls("zeCommandListAppendBarrier");
  const unsigned char pattern = 1;
  for (int i = 0; i < 10; ++i) must(t.mem_fill(t.self, 0, ptr, 4096, &pattern, 1, nullptr));
  const uint64_t after = calls("zeCommandListAppendBarrier");
  must(t.device_sync(t.self, 0));
  must(t.mem_free(t.self, 0, ptr));
  return after - before;
}

TEST(ModesTest, ListsKeepTheirOrderWhereTheDriverIsNewEnough) {
  for (const char* api : {"1.7", "1.10"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_API", api}}), EXPECT_EQ(barriers_of_ten_fills(), 0u));
  }
}

// Those accept the flag, and ignore it.
TEST(ModesTest, BarriersDoItForAnOlderDriver) {
  for (const char* api : {"1.0", "1.3", "1.6"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_API", api}}),
                               EXPECT_EQ(barriers_of_ten_fills(), 10u));
  }
}

TEST(ModesTest, BarriersDoItWhereTheUserSaysSo) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_IN_ORDER", "0"}}),
                             EXPECT_EQ(barriers_of_ten_fills(), 10u));
}

// The layer of Debian's loader refuses flags of later versions.
TEST(ModesTest, BarriersDoItUnderAnOldValidationLayer) {
  OUTBACK_IN_ITS_OWN_PROCESS(
      ({{"ZE_ENABLE_VALIDATION_LAYER", "1"}, {"ZE_ENABLE_PARAMETER_VALIDATION", "1"}}),
      EXPECT_EQ(barriers_of_ten_fills(), 10u));
}

// Works with events until slots come back.
void record_and_wait_many_times() {
  const outback_runtime& t = table();
  outback_event e = nullptr;
  must(t.events->create(t.self, 0, 0, &e));
  for (int i = 0; i < 600; ++i) {
    must(t.events->record(t.self, 0, e, nullptr));
    must(t.events->sync(t.self, 0, e));
  }
  must(t.events->destroy(t.self, 0, e));
}

TEST(ModesTest, CounterBasedEventsNeedNoReset) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_API", "1.8"}}), {
    record_and_wait_many_times();
    EXPECT_EQ(calls("zeEventHostReset"), 0u);
    EXPECT_EQ(live("event pool"), 1u);
  });
}

TEST(ModesTest, OtherEventsAreResetOnceTheyAreDone) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_API", "1.7"}}), {
    record_and_wait_many_times();
    EXPECT_GT(calls("zeEventHostReset"), 300u);
    EXPECT_EQ(live("event pool"), 1u);
  });
}

// Asks both of one driver: with Debian's loader there is no zeCommandListHostSynchronize to call.
TEST(ModesTest, ANewerLoaderSynchronizesLists) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_LOADER", newer_loader}}), {
    barriers_of_ten_fills();
    EXPECT_GT(calls("zeCommandListHostSynchronize"), 0u);
    EXPECT_EQ(calls("zeEventCreate"), 0u);
  });
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_LOADER", newer_loader}, {"OUTBACK_ZE_API", "1.5"}}), {
    barriers_of_ten_fills();
    EXPECT_EQ(calls("zeCommandListHostSynchronize"), 0u);
  });
}

// An idle stream is known to be idle, and asking costs no call.
TEST(ModesTest, SyncOfAnIdleStreamCallsNothing) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    barriers_of_ten_fills();
    const auto asked = [] {
      return calls("zeEventHostSynchronize") + calls("zeEventQueryStatus") +
             calls("zeCommandListAppendBarrier");
    };
    const uint64_t before = asked();
    for (int i = 0; i < 100; ++i) {
      must(table().streams->sync(table().self, 0, nullptr));
      must(table().streams->query(table().self, 0, nullptr));
      must(table().device_sync(table().self, 0));
    }
    EXPECT_EQ(asked(), before);
  });
}

// Each stream goes to the next engine, and lists of streams that are gone are used again.
TEST(ModesTest, ListsAreUsedAgain) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    for (int i = 0; i < 100; ++i) {
      outback_stream s = nullptr;
      must(table().streams->create(table().self, 0, i % 3 - 1, &s));
      must(table().streams->destroy(table().self, 0, s));
    }
    EXPECT_LE(live("command list"), 3u);  // one for each priority
  });
}

}  // namespace
}  // namespace outback::test_level_zero
