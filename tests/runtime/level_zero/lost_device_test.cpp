// A device that is lost: every slot of it says so from then on, and the others go on.
#include <gmock/gmock.h>

#include <atomic>

#include "tests/runtime/level_zero/own_process.hpp"

namespace outback::test_level_zero {
namespace {

using testing::HasSubstr;

std::atomic<int> runs;
void count_run(void*) {
  ++runs;
}

TEST(LostDeviceTest, IsLostForGoodAndTheOthersAreNot) {
  // With a loader that synchronizes lists: the software driver calls every event of a context lost
  // that is pending when one of its devices is.
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_LOADER", newer_loader}}), {
    const outback_runtime& t = table();
    void *lost = nullptr, *kept = nullptr, *ptr = nullptr;
    outback_event e = nullptr;
    must(t.mem_alloc(t.self, 1, 4096, &lost));
    must(t.mem_alloc(t.self, 0, 4096, &kept));
    must(t.events->create(t.self, 1, 0, &e));
    OUTBACK_ZE_CONTROL(outback_ze_lose_device)(1);
    const unsigned char pattern = 5;
    outback_status status = t.mem_fill(t.self, 1, lost, 4096, &pattern, 1, nullptr);
    if (status == OUTBACK_OK) status = t.device_sync(t.self, 1);
    EXPECT_EQ(status, OUTBACK_DEVICE_LOST);
    EXPECT_THAT(last_error(), HasSubstr("ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)"));
    const uint64_t before = calls("zeMemAllocDevice");
    for (int round = 0; round < 2; ++round) {
      EXPECT_EQ(t.mem_alloc(t.self, 1, 64, &ptr), OUTBACK_DEVICE_LOST);
      EXPECT_THAT(last_error(), HasSubstr("device 1 was lost before"));
      EXPECT_EQ(t.device_sync(t.self, 1), OUTBACK_DEVICE_LOST);
      EXPECT_EQ(t.events->record(t.self, 1, e, nullptr), OUTBACK_DEVICE_LOST);
      EXPECT_EQ(t.events->query(t.self, 1, e), OUTBACK_DEVICE_LOST);
      EXPECT_EQ(t.device_state->select(t.self, 1), OUTBACK_DEVICE_LOST);
    }
    EXPECT_EQ(calls("zeMemAllocDevice"), before);
    EXPECT_EQ(device_count(), 2);
    EXPECT_EQ(t.mem_fill(t.self, 0, kept, 4096, &pattern, 1, nullptr), OUTBACK_OK);
    EXPECT_EQ(t.device_sync(t.self, 0), OUTBACK_OK);
    EXPECT_EQ(t.mem_alloc(t.self, 0, 64, &ptr), OUTBACK_OK);
  });
}

TEST(LostDeviceTest, ItsCallbacksNeverRun) {
  for (const char* how : {"0", "1"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_IN_ORDER", how}}), {
      const outback_runtime& t = table();
      must(t.streams->sync(t.self, 0, nullptr));
      must(t.device_sync(t.self, 0));
      OUTBACK_ZE_CONTROL(outback_ze_pause)();
      must(t.callbacks->enqueue(t.self, 0, &count_run, nullptr, nullptr));
      OUTBACK_ZE_CONTROL(outback_ze_lose_device)(0);
      OUTBACK_ZE_CONTROL(outback_ze_resume)();
      EXPECT_EQ(t.device_sync(t.self, 0), OUTBACK_DEVICE_LOST);
      EXPECT_EQ(runs, 0);
    });
  }
}

}  // namespace
}  // namespace outback::test_level_zero
