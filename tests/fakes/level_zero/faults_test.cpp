// Faults on purpose: every entry point can fail, once or always, and a device can be lost.
#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>

#include <string>
#include <thread>
#include <utility>

#include "tests/fakes/level_zero/client.hpp"
#include "tests/fakes/level_zero/newer_api.hpp"

namespace outback::software_ze {
namespace {

constexpr auto low_power = ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE;

class FaultsTest : public testing::driver_test {
 protected:
  ze_result_t allocate() {
    const ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    void* made = nullptr;
    const ze_result_t result = ZE(zeMemAllocDevice)(context, &desc, 1, 1, devices[0], &made);
    if (made) free_memory(made);
    return result;
  }
};

// The slots of all tables are called with no arguments at all: what fails looks at none.
TEST_F(FaultsTest, EveryEntryPointCanFail) {
  for (std::size_t i = 0; CONTROL(outback_ze_entry_point)(i); ++i) {
    EXPECT_EQ(CONTROL(outback_ze_fail)(CONTROL(outback_ze_entry_point)(i), 0, low_power), 0);
  }
  using get = ze_result_t (*)(ze_api_version_t, void*);
  using nothing = ze_result_t (*)(void*, void*, void*, void*, void*, void*, void*, void*, void*,
                                  void*, void*, void*, void*, void*, void*);
  std::size_t called = 0;
  for (const char* table :
       {"zeGetGlobal",       "zeGetDriver",      "zeGetDevice",      "zeGetContext",
        "zeGetCommandQueue", "zeGetCommandList", "zeGetImage",       "zeGetFence",
        "zeGetEventPool",    "zeGetEvent",       "zeGetModule",      "zeGetModuleBuildLog",
        "zeGetKernel",       "zeGetSampler",     "zeGetPhysicalMem", "zeGetMem",
        "zeGetVirtualMem",   "zesGetDevice",     "zesGetMemory",     "zesGetTemperature",
        "zesGetPower",       "zesGetFrequency",  "zesGetEngine",     "zesGetGlobal",
        "zesGetDriver",      "zesGetDriverExp"}) {
    void* slots[64] = {};
    const std::string function = std::string(table) + "ProcAddrTable";
    ASSERT_SUCCESS(
        reinterpret_cast<get>(testing::require_symbol(testing::driver_library(), function.c_str()))(
            static_cast<ze_api_version_t>(api_version(1, 10)), slots));
    for (void* slot : slots) {
      if (!slot) continue;
      ++called;
      EXPECT_EQ(reinterpret_cast<nothing>(slot)(nullptr, nullptr, nullptr, nullptr, nullptr,
                                                nullptr, nullptr, nullptr, nullptr, nullptr,
                                                nullptr, nullptr, nullptr, nullptr, nullptr),
                low_power)
          << table;
    }
  }
  CONTROL(outback_ze_clear_failures)();
  std::size_t there = 0;
  for (; CONTROL(outback_ze_entry_point)(there); ++there) {
    const char* name = CONTROL(outback_ze_entry_point)(there);
    EXPECT_GE(CONTROL(outback_ze_calls)(name), 1u) << name;
  }
  EXPECT_EQ(called, there);
  EXPECT_GT(there, 150u);
}

TEST_F(FaultsTest, TheNthCallFails) {
  ASSERT_EQ(CONTROL(outback_ze_fail)("zeMemAllocDevice", 2, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY),
            0);
  EXPECT_EQ(allocate(), ZE_RESULT_SUCCESS);
  EXPECT_EQ(allocate(), ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  EXPECT_EQ(allocate(), ZE_RESULT_SUCCESS);
  EXPECT_EQ(CONTROL(outback_ze_live)("device memory"), 0u);
}

TEST_F(FaultsTest, ZeroFailsEachCallUntilCleared) {
  ASSERT_EQ(CONTROL(outback_ze_fail)("zeMemAllocDevice", 0, low_power), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(allocate(), low_power);
  CONTROL(outback_ze_clear_failures)();
  EXPECT_EQ(allocate(), ZE_RESULT_SUCCESS);
}

TEST_F(FaultsTest, WhatIsNotThereCannotFail) {
  EXPECT_EQ(CONTROL(outback_ze_fail)("zeMemAllocDevise", 1, low_power), -1);
  EXPECT_EQ(CONTROL(outback_ze_live)("device memories"), UINT64_MAX);
  EXPECT_EQ(CONTROL(outback_ze_lose_device)(99), -1);
}

TEST_F(FaultsTest, ImagesAreNotServed) {
  const ze_image_desc_t desc{};
  ze_image_handle_t image = nullptr;
  EXPECT_EQ(ZE(zeImageCreate)(context, devices[0], &desc, &image),
            ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

// Last: the device stays lost.
TEST_F(FaultsTest, ZLostDevicesAnswerNothingElseAndEndWaits) {
  const auto lost = immediate_list();
  const auto other = immediate_list(0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, 1);
  const auto pool = event_pool(2);
  auto go = event(pool, 0), done = event(pool, 1);
  auto* memory = device_memory(100);
  const char one = 1;
  EXPECT_SUCCESS(ZE(zeCommandListAppendMemoryFill)(lost, memory, &one, 1, 100, done, 1, &go));
  std::thread later([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_EQ(CONTROL(outback_ze_lose_device)(0), 0);
  });
  EXPECT_EQ(ZE(zeEventHostSynchronize)(done, testing::forever), ZE_RESULT_ERROR_DEVICE_LOST);
  later.join();
  EXPECT_EQ(ZE(zeDeviceGetStatus)(devices[0]), ZE_RESULT_ERROR_DEVICE_LOST);
  EXPECT_EQ(ZE(zeContextGetStatus)(context), ZE_RESULT_ERROR_DEVICE_LOST);
  EXPECT_EQ(allocate(), ZE_RESULT_ERROR_DEVICE_LOST);
  EXPECT_EQ(ZE(zeCommandListAppendBarrier)(lost, nullptr, 0, nullptr), ZE_RESULT_ERROR_DEVICE_LOST);
  EXPECT_SUCCESS(ZE(zeDeviceGetStatus)(devices[1]));
  wait_for(other);
  // Waits until what was queued on it is dropped.
  const ze_memory_free_ext_desc_t blocking{ZE_STRUCTURE_TYPE_MEMORY_FREE_EXT_DESC, nullptr,
                                           ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE};
  EXPECT_SUCCESS(ZE(zeMemFreeExt)(context, &blocking, memory));
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(lost));
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(other));
  EXPECT_SUCCESS(ZE(zeEventDestroy)(go));
  EXPECT_SUCCESS(ZE(zeEventDestroy)(done));
  EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
}

}  // namespace
}  // namespace outback::software_ze
