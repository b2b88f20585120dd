// What concerns the process: the environment, forks, violations that end it, leaks at its end,
// memory that faults.
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "tests/fakes/level_zero/client.hpp"

namespace outback::software_ze {
namespace {

// ctest looks at what the driver writes.
TEST(EnvironmentTest, AWrongOneIsToldAndRefused) {
  EXPECT_NE(ZE(zeInit)(ZE_INIT_FLAG_GPU_ONLY), ZE_RESULT_SUCCESS);
}

class ProcessTest : public testing::driver_test {};
using ProcessDeathTest = ProcessTest;

TEST_F(ProcessTest, FaultsOfTheEnvironmentHappen) {
  // OUTBACK_ZE_FAULTS=zeMemAllocDevice:2=0x70000003,zeMemAllocHost:*=0x70000002,zeFenceCreate=0x70000001
  void* made = nullptr;
  const ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
  const ze_host_mem_alloc_desc_t host_desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  EXPECT_EQ(ZE(zeMemAllocHost)(context, &host_desc, 1, 1, &made),
            ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  EXPECT_EQ(ZE(zeMemAllocHost)(context, &host_desc, 1, 1, &made),
            ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  EXPECT_SUCCESS(ZE(zeMemAllocDevice)(context, &desc, 1, 1, devices[0], &made));
  free_memory(made);
  EXPECT_EQ(ZE(zeMemAllocDevice)(context, &desc, 1, 1, devices[0], &made),
            ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
}

// OUTBACK_ZE_STRICT=1
TEST_F(ProcessDeathTest, AViolationEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto* memory = device_memory(1);
  free_memory(memory);
  EXPECT_DEATH(ZE(zeMemFree)(context, memory), "no allocation begins at");
}

// OUTBACK_ZE_GUARD=1
TEST_F(ProcessDeathTest, TheHostCannotTouchDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto* memory = device_memory(1);
  auto* on_host = host_memory(1);
  EXPECT_DEATH(*static_cast<volatile std::byte*>(memory) = std::byte{1}, "");
  EXPECT_DEATH((void)*static_cast<volatile std::byte*>(memory), "");
  on_host[0] = std::byte{1};
  free_memory(memory);
  free_memory(on_host);
}

TEST_F(ProcessDeathTest, FreedHostMemoryFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto* memory = host_memory(1);
  free_memory(memory);
  EXPECT_DEATH(*static_cast<volatile std::byte*>(memory) = std::byte{1}, "");
}

// OUTBACK_ZE_LEAKS=device memory,event pool: ctest looks at what the driver writes when the process
// ends.
TEST_F(ProcessTest, LeaksAreReportedAtExit) {
  device_memory(1);
  device_memory(1);
  event_pool(1);
  immediate_list();
  context = nullptr;
}

// A child of a process that has initialised the driver: it may ask what there is, and nothing else.
TEST_F(ProcessTest, AForkedChildIsRefused) {
  const auto list = immediate_list();
  wait_for(list);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    uint32_t count = 0;
    const bool asks = ZE(zeInit)(0) == ZE_RESULT_SUCCESS &&
                      ZE(zeDeviceGet)(driver, &count, nullptr) == ZE_RESULT_SUCCESS && count == 2;
    const auto before = CONTROL(outback_ze_violations)();
    const bool refused =
        ZE(zeCommandListAppendBarrier)(list, nullptr, 0, nullptr) == ZE_RESULT_ERROR_DEVICE_LOST &&
        CONTROL(outback_ze_violations)() == before + 1;
    _exit(asks && refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  wait_for(list);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
}

// OUTBACK_ZE_FORK=hang
TEST_F(ProcessTest, AForkedChildHangs) {
  const auto pool = event_pool(1);
  const auto done = event(pool);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ZE(zeEventHostSynchronize)(done, testing::forever);
    _exit(0);
  }
  usleep(300000);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, WNOHANG), 0) << "it waits";
  kill(child, SIGKILL);
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_SUCCESS(ZE(zeEventDestroy)(done));
  EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
}

}  // namespace
}  // namespace outback::software_ze
