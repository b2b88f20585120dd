// What a kernel that calls its driver itself asks for: the driver's stream, and the number of the
// device there. In a program of its own, since ACME_VISIBLE_DEVICES is read once.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"
#include "outback/kernels/runtime.h"
#include "outback/kernels/stream.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

class NativeStreamTest : public BackendTest {
 protected:
  static void SetUpTestSuite() {
    setenv("ACME_VISIBLE_DEVICES", "1,0", 1);
    BackendTest::SetUpTestSuite();
  }

  // As the runtime itself tells it, of its own device and stream.
  static void* native_stream(int32_t device, outback_stream stream) {
    const outback_runtime& table = core::installed_runtime();
    void* handle = nullptr;
    EXPECT_EQ(table.native->stream(table.self, device, stream, &handle), OUTBACK_OK);
    return handle;
  }
};

TEST_F(NativeStreamTest, ADeviceHasTheRuntimesNumber) {
  EXPECT_EQ(kernels::kernel_stream(device(0)).runtime_device(), 1);
  EXPECT_EQ(kernels::kernel_stream(device(1)).runtime_device(), 0);
}

TEST_F(NativeStreamTest, TheDefaultStreamHasAHandleOfTheDrivers) {
  kernels::kernel_stream stream(device(0));
  EXPECT_EQ(stream.handle(), nullptr);
  EXPECT_EQ(stream.native_handle(), native_stream(1, nullptr));
  EXPECT_NE(stream.native_handle(), native_stream(0, nullptr)) << "of the other device";
}

TEST_F(NativeStreamTest, TheCurrentStreamHasAHandleOfTheDrivers) {
  const c10::Stream mine = core::new_stream(0, 0), before = core::exchange_stream(mine);
  {
    kernels::kernel_stream stream(device(0));
    EXPECT_EQ(stream.native_handle(), native_stream(1, core::handle_of(mine)));
    EXPECT_NE(stream.native_handle(), native_stream(1, nullptr));
  }
  core::synchronize_device(0);
  core::exchange_stream(before);
}

TEST_F(NativeStreamTest, WorkOnTheDriversStreamIsWaitedFor) {
  {
    kernels::kernel_stream stream(device(0));
    stream.wait();
    stream.native_handle();
  }
  EXPECT_FALSE(core::is_idle(core::current_stream(0)));
  core::synchronize_device(0);
}

}  // namespace
}  // namespace outback::test
