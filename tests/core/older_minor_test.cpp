// A runtime that was compiled under an older minor version of the contract (tests/runtime/minors/)
// registers, through the layers too, and a program computes on it.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cstddef>

#include "backend_template/core/devices/telemetry.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/event.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/timeline/timeline.h"
#include "outback/backend.h"
#include "outback/layers.hpp"
#include "outback/slot_list.hpp"
#include "outback/table_check.hpp"

extern "C" const outback_runtime* outback_test_c_runtime(void);

namespace outback::test {
namespace {

class OlderMinorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    // What it looks like to today's header: it ends before today's last group.
    const outback_runtime* table = outback_test_c_runtime();
    ASSERT_EQ(table->abi_minor, OUTBACK_TEST_MINOR);
    ASSERT_LT(table->abi_minor, OUTBACK_ABI_MINOR);
    std::size_t size = 0;
#define OUTBACK_X(group, introduced, needs, since) \
  if (since <= OUTBACK_TEST_MINOR) size = offsetof(outback_runtime, group) + sizeof(void*);
    OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
    ASSERT_EQ(table->struct_size, size);
    ASSERT_EQ(table_problem(table), "");
    register_backend({.name = "acme", .runtime = layers::validate(table)});
  }
};

TEST_F(OlderMinorTest, AProgramComputes) {
  const auto on_device = at::TensorOptions().device(c10::DeviceType::PrivateUse1);
  const at::Tensor x = at::arange(12, at::kFloat).reshape({3, 4});
  const at::Tensor there = x.to(c10::DeviceType::PrivateUse1);
  const at::Tensor result = at::mm(there, there.t()) + at::ones({3, 3}, on_device);
  EXPECT_TRUE(at::equal(result.cpu(), at::mm(x, x.t()) + 1));
}

TEST_F(OlderMinorTest, ItsGroupsAreThereAndNoNewerOne) {
  EXPECT_NE(core::runtime().telemetry, nullptr);
  EXPECT_EQ(core::runtime().activity == nullptr, OUTBACK_TEST_MINOR < 1);
#define OUTBACK_X(group, introduced, needs, since)       \
  if (since > OUTBACK_TEST_MINOR) {                      \
    EXPECT_EQ(core::runtime().group, nullptr) << #group; \
  }
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  EXPECT_GE(core::read_telemetry(0, OUTBACK_METRIC_MEMORY_USED), 0);
  core::event event;
  event.record(core::default_stream(0));
  event.synchronize();
}

TEST_F(OlderMinorTest, AProfileHasTheDevicesTimes) {
  const at::Tensor x = at::ones({1 << 18}, at::kFloat).to(c10::DeviceType::PrivateUse1);
  const at::Tensor y = at::empty_like(x);
  const uint64_t profile = core::start_recording();
  ASSERT_NE(profile, 0u);
  core::copy_bytes(y.data_ptr(), y.device(), x.data_ptr(), x.device(), x.nbytes(), false);
  const core::timeline all = core::stop_recording(profile, core::known_streams);
  EXPECT_EQ(all.lost, 0u);
  bool has_copy = false;
  for (const core::recorded_work& each : all.all) {
    has_copy = has_copy || (each.kind == core::work::copy_within && each.device_begin != 0);
  }
  EXPECT_TRUE(has_copy);
}

}  // namespace
}  // namespace outback::test
