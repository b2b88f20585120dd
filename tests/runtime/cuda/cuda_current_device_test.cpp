// No slot but device_state.select changes what is current in the calling thread, and none makes a
// context on a device that was not asked for.
#include <gtest/gtest.h>

#include <thread>

#include "tests/runtime/cuda/every_slot.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

CUcontext current() {
  CUcontext context = nullptr;
  fake_driver().cuCtxGetCurrent(&context);
  return context;
}

int current_device() {
  int device = -1;
  fake().get_device(&device);
  return device;
}

class CudaCurrentDeviceTest : public testing::TestWithParam<slot_case> {};

// Device 0 is the one that libcudart would make a context on, and is used by nothing in this
// program.
TEST_P(CudaCurrentDeviceTest, AThreadWithoutOneStaysSo) {
  slot_world world;
  std::thread([&] {
    EXPECT_EQ(current(), nullptr);
    EXPECT_EQ(GetParam().call(world), OUTBACK_OK) << world.t().last_error(world.self());
    EXPECT_EQ(current(), nullptr);
    EXPECT_EQ(current_device(), 0);
  }).join();
  EXPECT_FALSE(fake().context_active(0));
}

TEST_P(CudaCurrentDeviceTest, AnotherDeviceStaysCurrent) {
  slot_world world;
  std::thread([&] {
    ASSERT_EQ(fake_cuda_functions().cudaSetDevice(slot_world::peer), cudaSuccess);
    const CUcontext before = current();
    EXPECT_NE(before, nullptr);
    EXPECT_EQ(GetParam().call(world), OUTBACK_OK) << world.t().last_error(world.self());
    EXPECT_EQ(current(), before);
    EXPECT_EQ(current_device(), slot_world::peer);
  }).join();
  EXPECT_FALSE(fake().context_active(0));
}

TEST_P(CudaCurrentDeviceTest, ItsOwnDeviceStaysCurrent) {
  slot_world world;
  std::thread([&] {
    ASSERT_EQ(fake_cuda_functions().cudaSetDevice(slot_world::device), cudaSuccess);
    const CUcontext before = current();
    EXPECT_EQ(GetParam().call(world), OUTBACK_OK) << world.t().last_error(world.self());
    EXPECT_EQ(current(), before);
    EXPECT_EQ(current_device(), slot_world::device);
  }).join();
  EXPECT_FALSE(fake().context_active(0));
}

INSTANTIATE_TEST_SUITE_P(Slots, CudaCurrentDeviceTest, testing::ValuesIn(every_slot()), test_name);

}  // namespace
}  // namespace outback::cuda
