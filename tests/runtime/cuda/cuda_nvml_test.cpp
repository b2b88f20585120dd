// Without NVML, as in a container that was given the devices and not all of the driver.
#include <gmock/gmock.h>

#include <cstdlib>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

using testing::HasSubstr;

class CudaWithoutNvmlTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("OUTBACK_NVML", "/nowhere/libnvidia-ml.so.1", 1); }

  const fake_functions& fake_ = fake();
  cuda_runtime runtime_;
  const outback_runtime& t_ = *table_of(runtime_);
};

TEST_F(CudaWithoutNvmlTest, CudaCountsAndMakesNoContext) {
  int32_t count = 0;
  EXPECT_EQ(t_.device_count(t_.self, &count), OUTBACK_OK);
  EXPECT_EQ(count, 3);
  for (int d = 0; d < count; ++d) EXPECT_FALSE(fake().context_active(d));
}

TEST_F(CudaWithoutNvmlTest, NothingIsMeasured) {
  int64_t value = -77;
  EXPECT_EQ(t_.telemetry->read(t_.self, 0, OUTBACK_METRIC_TEMPERATURE, &value),
            OUTBACK_UNSUPPORTED);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("/nowhere/libnvidia-ml.so.1"));
  EXPECT_EQ(value, -77);
  outback_processes processes = {};
  processes.struct_size = sizeof(processes);
  EXPECT_EQ(t_.telemetry->processes(t_.self, 0, &processes), OUTBACK_UNSUPPORTED);
}

}  // namespace
}  // namespace outback::cuda
