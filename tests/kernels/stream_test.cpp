// The stream of a native kernel: which one, for how long, and who waits for it.
#include "outback/kernels/stream.h"

#include <c10/util/Exception.h>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/streams/stream.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

class KernelStreamTest : public BackendTest {
 protected:
  void TearDown() override {
    core::synchronize_device(0);
    core::exchange_stream(core::default_stream(0));
  }
};

TEST_F(KernelStreamTest, IsTheCurrentStreamOfTheDevice) {
  const c10::Stream mine = core::new_stream(0, 0);
  core::exchange_stream(mine);
  kernels::kernel_stream stream(device(0));
  EXPECT_NE(stream.handle(), nullptr);
  EXPECT_EQ(stream.handle(), core::handle_of(mine));
  EXPECT_EQ(stream.device(), device(0));
  EXPECT_EQ(kernels::kernel_stream(device(1)).handle(), core::handle_of(core::default_stream(1)));
}

TEST_F(KernelStreamTest, MakesItsDeviceTheCurrentOne) {
  {
    const kernels::kernel_stream stream(device(1));
    EXPECT_EQ(core::current_device(), 1);
  }
  EXPECT_EQ(core::current_device(), 0);
}

TEST_F(KernelStreamTest, WhatAKernelEnqueuedIsWaitedForByOthers) {
  core::drain(0);
  ASSERT_TRUE(core::is_idle(core::current_stream(0)));
  {
    const kernels::kernel_stream stream(device(0));
  }
  EXPECT_FALSE(core::is_idle(core::current_stream(0)));
}

TEST_F(KernelStreamTest, AKernelThatWaitsLeavesTheStreamIdle) {
  {
    const kernels::kernel_stream earlier(device(0));
  }
  {
    kernels::kernel_stream stream(device(0));
    stream.wait();
    EXPECT_TRUE(core::is_idle(core::current_stream(0)));
  }
  EXPECT_TRUE(core::is_idle(core::current_stream(0)));
}

TEST_F(KernelStreamTest, WhatIsLaunchedAfterAWaitCountsAgain) {
  {
    kernels::kernel_stream stream(device(0));
    stream.wait();
    stream.handle();
  }
  EXPECT_FALSE(core::is_idle(core::current_stream(0)));
}

TEST_F(KernelStreamTest, WhatIsLaunchedMayCountBeforeTheEnd) {
  kernels::kernel_stream stream(device(0));
  stream.wait();
  stream.handle();
  stream.mark_launched();
  EXPECT_FALSE(core::is_idle(core::current_stream(0)));
}

TEST_F(KernelStreamTest, OtherDevicesAreRefused) {
  EXPECT_THROW(kernels::kernel_stream(c10::Device(c10::kCPU)), c10::Error);
  EXPECT_THROW(kernels::kernel_stream(device(2)), c10::Error);
}

}  // namespace
}  // namespace outback::test
