// A device that is lost: every slot of it says so from then on, and the others go on.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>

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

// Device 1 is lost, and `finds_out`, a slot of both devices or of device 0, is the first to meet
// that.
void expect_only_device_1_is_lost(const std::function<void()>& finds_out) {
  const outback_runtime& t = table();
  finds_out();
  EXPECT_EQ(t.device_sync(t.self, 0), OUTBACK_OK) << last_error();
  EXPECT_EQ(t.device_state->select(t.self, 0), OUTBACK_OK) << last_error();
  EXPECT_EQ(t.device_state->select(t.self, 1), OUTBACK_DEVICE_LOST);
  EXPECT_THAT(last_error(), HasSubstr("device 1 was lost before"));
}

TEST(LostDeviceTest, ACopyToItDoesNotLoseTheSource) {
  for (const char* peers : {"0", "1"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_PEER", peers}}), {
      const outback_runtime& t = table();
      void *here = nullptr, *there = nullptr;
      must(t.mem_alloc(t.self, 0, 4096, &here));
      must(t.mem_alloc(t.self, 1, 4096, &there));
      const auto copy = [&] { return t.mem_copy(t.self, there, 1, here, 0, 4096, nullptr); };
      must(copy());
      must(t.device_sync(t.self, 0));
      OUTBACK_ZE_CONTROL(outback_ze_lose_device)(1);
      expect_only_device_1_is_lost([&] {
        // The software driver does not mind a copy to the memory of a device that is gone.
        if (peers[0] == '1') OUTBACK_ZE_CONTROL(outback_ze_fail)
        ("zeCommandListAppendMemoryCopy", 1, 0x70000001);
        EXPECT_EQ(copy(), OUTBACK_DEVICE_LOST);
      });
      EXPECT_EQ(copy(), OUTBACK_DEVICE_LOST);
      EXPECT_EQ(t.peer->enable(t.self, 0, 1), OUTBACK_DEVICE_LOST);
      int32_t can = 0;
      EXPECT_EQ(t.peer->can_access(t.self, 0, 1, &can), OUTBACK_DEVICE_LOST);
      EXPECT_EQ(t.device_sync(t.self, 0), OUTBACK_OK) << last_error();
    });
  }
}

TEST(LostDeviceTest, AWaitForItsEventDoesNotLoseTheWaitingDevice) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_LOADER", newer_loader}}), {
    const outback_runtime& t = table();
    outback_event e = nullptr;
    must(t.device_sync(t.self, 0));
    must(t.events->create(t.self, 1, 0, &e));
    OUTBACK_ZE_CONTROL(outback_ze_pause)();
    must(t.events->record(t.self, 1, e, nullptr));
    OUTBACK_ZE_CONTROL(outback_ze_lose_device)(1);
    OUTBACK_ZE_CONTROL(outback_ze_resume)();
    expect_only_device_1_is_lost(
        [&] { EXPECT_EQ(t.events->wait(t.self, 0, e, nullptr), OUTBACK_DEVICE_LOST); });
    EXPECT_EQ(t.events->wait(t.self, 0, e, nullptr), OUTBACK_DEVICE_LOST);
    EXPECT_EQ(t.device_sync(t.self, 0), OUTBACK_OK) << last_error();
    EXPECT_EQ(t.events->destroy(t.self, 1, e), OUTBACK_OK) << last_error();
  });
}

TEST(LostDeviceTest, WhatItMayAccessCanBeAllocated) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const outback_runtime& t = table();
    void* ptr = nullptr;
    must(t.peer->enable(t.self, 1, 0));
    OUTBACK_ZE_CONTROL(outback_ze_lose_device)(1);
    expect_only_device_1_is_lost(
        [&] { EXPECT_EQ(t.mem_alloc(t.self, 0, 64, &ptr), OUTBACK_OK) << last_error(); });
    EXPECT_EQ(t.mem_alloc(t.self, 0, 64, &ptr), OUTBACK_OK) << last_error();
  });
}

TEST(LostDeviceTest, PinnedMemoryIsAnotherDevices) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_LOADER", newer_loader}}), {
    const outback_runtime& t = table();
    void *before = nullptr, *after = nullptr;
    must(t.host_memory->alloc(t.self, 4096, &before));
    OUTBACK_ZE_CONTROL(outback_ze_lose_device)(0);
    EXPECT_EQ(t.streams->create(t.self, 0, 0, reinterpret_cast<outback_stream*>(&after)),
              OUTBACK_DEVICE_LOST);
    EXPECT_EQ(t.host_memory->alloc(t.self, 4096, &after), OUTBACK_OK) << last_error();
    EXPECT_EQ(t.host_memory->free(t.self, before), OUTBACK_OK) << last_error();
    EXPECT_EQ(t.host_memory->free(t.self, after), OUTBACK_OK) << last_error();
    EXPECT_EQ(t.host_memory->free(t.self, after), OUTBACK_INVALID_ARGUMENT);
  });
}

// Two drivers: the software one, and a copy, because the loader would get the same library again.
void expect_wait_for_another_driver_is_given_up() {
  const auto copied = std::filesystem::temp_directory_path() /
                      ("outback_another_driver_" + std::to_string(getpid()) + ".so");
  std::filesystem::copy_file(software_driver, copied);
  setenv("ZE_ENABLE_ALT_DRIVERS", (software_driver + ("," + copied.string())).c_str(), 1);
  EXPECT_EQ(device_count(), 4);
  void* const library = dlopen(copied.c_str(), RTLD_NOW | RTLD_NOLOAD);
  std::filesystem::remove(copied);
  const auto used =
      reinterpret_cast<decltype(&outback_ze_memory_used)>(dlsym(library, "outback_ze_memory_used"));
  const auto pause =
      reinterpret_cast<decltype(&outback_ze_pause)>(dlsym(library, "outback_ze_pause"));
  const auto lose_device =
      reinterpret_cast<decltype(&outback_ze_lose_device)>(dlsym(library, "outback_ze_lose_device"));

  const outback_runtime& t = table();
  // The loader may list either driver first.
  void* ptr = nullptr;
  must(t.mem_alloc(t.self, 2, 64, &ptr));
  const int32_t there = used(0) != 0 ? 2 : 0, here = 2 - there;
  outback_event e = nullptr;
  must(t.events->create(t.self, there, 0, &e));
  must(t.device_sync(t.self, there));
  pause();
  must(t.events->record(t.self, there, e, nullptr));
  must(t.events->wait(t.self, here, e, nullptr));
  lose_device(0);
  EXPECT_EQ(t.device_sync(t.self, here), OUTBACK_INTERNAL);
  EXPECT_THAT(last_error(), HasSubstr("waited for an event of device " + std::to_string(there) +
                                      ", which was lost"));
  EXPECT_EQ(t.device_sync(t.self, here), OUTBACK_OK) << last_error();
  EXPECT_EQ(t.device_state->select(t.self, there), OUTBACK_DEVICE_LOST);
  EXPECT_EQ(t.device_state->select(t.self, there + 1), OUTBACK_OK) << last_error();
  EXPECT_EQ(t.events->destroy(t.self, there, e), OUTBACK_OK) << last_error();
}

// A thread of the host waits for the event: its failure is told by the stream, and ends no process.
TEST(LostDeviceTest, AWaitForTheEventOfAnotherDriverIsGivenUp) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), expect_wait_for_another_driver_is_given_up());
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
