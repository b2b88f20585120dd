// What core makes of a driver's answers that no runtime of the tree gives by itself: a device that
// cannot be selected, and work that others enqueue while the host waits.
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "backend_template/core/copy.h"
#include "backend_template/core/device.h"
#include "backend_template/core/device_allocator.h"
#include "backend_template/core/host_failure.h"
#include "backend_template/core/stream.h"
#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/backend.h"
#include "outback/runtime.hpp"

namespace outback::test {
namespace {

class hooked_runtime : public host::host_runtime {
 public:
  hooked_runtime() : host_runtime({.devices = 2, .memory_size = size_t{64} << 20}) {}

  void device_select(int32_t device) {
    if (device == refused) throw invalid_argument("the driver does not select this device");
    host_runtime::device_select(device);
  }
  void device_sync(int32_t device) {
    host_runtime::device_sync(device);
    if (after_sync) after_sync();
  }

  int32_t refused = -1;
  std::function<void()> after_sync;
};

hooked_runtime& runtime() {
  static auto& it = *new hooked_runtime;
  return it;
}

class HookedRuntimeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_backend({.name = "acme", .runtime = table_of(runtime())});
  }
  void SetUp() override { core::synchronize_device(0); }
  void TearDown() override {
    runtime().refused = -1;
    runtime().after_sync = nullptr;
    core::exchange_stream(core::default_stream(0));
    core::exchange_stream(core::default_stream(1));
    core::set_device(0);
  }
};

TEST_F(HookedRuntimeTest, ADeviceThatCannotBeSelectedIsNotCurrent) {
  runtime().refused = 1;
  EXPECT_THROW(core::set_device(1), c10::Error);
  EXPECT_EQ(core::current_device(), 0);
}

TEST_F(HookedRuntimeTest, AStreamOfADeviceThatCannotBeSelectedIsNotCurrent) {
  const c10::Stream mine = core::new_stream(1, 0);
  runtime().refused = 1;
  EXPECT_THROW(core::make_current(mine), c10::Error);
  EXPECT_EQ(core::current_device(), 0);
  EXPECT_EQ(core::current_stream(1), core::default_stream(1));
}

TEST_F(HookedRuntimeTest, WorkThatComesWhileTheHostWaitsIsNotTakenForDone) {
  const c10::DataPtr memory = core::allocate_on(0, 16);
  const uint8_t one = 1;
  runtime().after_sync = [&] { core::fill_bytes(memory.get(), 0, 16, &one, sizeof one); };
  core::synchronize_device(0);
  runtime().after_sync = nullptr;
  EXPECT_FALSE(core::is_idle(core::default_stream(0)));
  core::synchronize_device(0);
  EXPECT_TRUE(core::is_idle(core::default_stream(0)));
}

TEST_F(HookedRuntimeTest, TheFailuresOfTwoDevicesAreBothTold) {
  core::report_host_failure(0, "the first");
  core::report_host_failure(1, "the second");
  EXPECT_THROW(core::synchronize_device(0), c10::Error);
  EXPECT_THROW(core::synchronize_device(1), c10::Error);
  core::synchronize_device(0);
  core::synchronize_device(1);
}

}  // namespace
}  // namespace outback::test
