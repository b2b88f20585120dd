// OUTBACK_TWIN=never: a device has no twin though this torch has the kernels, and nothing of
// PyTorch's own device is entered.
#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <torch/library.h>

#include <cstdlib>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/twin_memory.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/twin/twin.h"
#include "outback/backend.h"
#include "tests/twin/hpu.h"

namespace outback::test {
namespace {

int kernels_that_ran = 0;

at::Tensor add(const at::Tensor& a, const at::Tensor&, const at::Scalar&) {
  ++kernels_that_ran;
  return a;
}

struct warnings final : c10::WarningHandler {
  void process(const c10::Warning& warning) override { text += warning.msg(); }
  std::string text;
};

class TwinNeverTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    setenv("OUTBACK_TWIN", "never", 1);
    register_hpu(/*devices=*/2);
    // A start of it would be told.
    hpu_start_problem() = "nobody may start it";
    static torch::Library kernels(torch::Library::IMPL, "aten", c10::DispatchKey::HPU, __FILE__, 0);
    kernels.impl("empty.memory_format", torch::CppFunction::makeFallthrough());
    kernels.impl("add.Tensor", &add);
    register_backend({.name = "acme", .runtime = &hpu_runtime()});
  }
  void TearDown() override { EXPECT_EQ(heard_.text, ""); }

  warnings heard_;
  const c10::WarningUtils::WarningHandlerGuard listen_{&heard_};
};

TEST_F(TwinNeverTest, NoDeviceHasATwin) {
  EXPECT_FALSE(core::may_have_twins());
  EXPECT_EQ(core::twin_of(0), std::nullopt);
  EXPECT_EQ(core::twin_of(1), std::nullopt);
  EXPECT_EQ(core::known_twin_type(), std::nullopt);
  EXPECT_FALSE(core::runs_cpu_kernels(0));
}

TEST_F(TwinNeverTest, OperatorsRunOverCopies) {
  const c10::Device device(core::device_type, 0);
  const at::Tensor x = at::arange(8, at::kFloat);
  const at::Tensor sum = x.to(device) + x.to(device);
  EXPECT_EQ(sum.device(), device);
  EXPECT_TRUE(sum.cpu().equal(x + x));
  EXPECT_EQ(kernels_that_ran, 0);
}

TEST_F(TwinNeverTest, MemoryAndStreamsAreOurOwn) {
  const auto freed = hpu_counted().freed;
  {
    const c10::DataPtr memory = core::allocate_on(0, 64);
    EXPECT_EQ(core::twins_memory_in(memory), nullptr);
    core::synchronize_stream(core::new_stream(0, 0));
  }
  EXPECT_EQ(hpu_counted().freed, freed);
  EXPECT_EQ(hpu_counted().emptied, 0);
}

TEST_F(TwinNeverTest, RandomNumbersAreOurOwn) {
  const c10::Device device(core::device_type, 0);
  at::Generator generator = core::default_generator(0);
  generator.set_current_seed(5);
  const at::Tensor first = at::rand({4}, device);
  generator.set_current_seed(5);
  EXPECT_TRUE(at::rand({4}, device).cpu().equal(first.cpu()));
}

}  // namespace
}  // namespace outback::test
