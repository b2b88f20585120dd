// Starting CUDA: what fails then may be tried again, and says what it was.
#include <gmock/gmock.h>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

using testing::HasSubstr;

class CudaStartTest : public testing::TestWithParam<const char*> {
 protected:
  const fake_functions& fake_ = fake();
  cuda_runtime runtime_;
  const outback_runtime& t_ = *table_of(runtime_);
};

TEST_P(CudaStartTest, AFailureIsToldAndNotForEver) {
  const std::string entry = GetParam();
  ASSERT_EQ(fake().fail(entry.c_str(), 1, cudaErrorNotSupported), 0);
  EXPECT_EQ(t_.device_sync(t_.self, 0), OUTBACK_UNSUPPORTED);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("(801): "));
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr(", in " + entry));
  fake().clear_faults();
  EXPECT_EQ(fake_cuda_functions().cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(t_.device_sync(t_.self, 0), OUTBACK_OK) << t_.last_error(t_.self);
}

INSTANTIATE_TEST_SUITE_P(EntryPoints, CudaStartTest,
                         testing::Values("cudaGetDeviceCount", "cudaGetDriverEntryPointByVersion",
                                         "cuDeviceGet", "cuDeviceTotalMem", "cuDeviceGetUuid"));

TEST_F(CudaStartTest, NoDeviceIsAnAnswer) {
  ASSERT_EQ(fake().fail("cudaGetDeviceCount", 1, cudaErrorNoDevice), 0);
  EXPECT_EQ(t_.device_sync(t_.self, 0), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("cudaErrorNoDevice (100)"));
  int32_t count = -1;
  EXPECT_EQ(t_.device_count(t_.self, &count), OUTBACK_OK);
  EXPECT_EQ(count, 0);
  void* pinned = nullptr;
  EXPECT_EQ(t_.host_memory->alloc(t_.self, 64, &pinned), OUTBACK_UNSUPPORTED);
  EXPECT_THAT(t_.last_error(t_.self), HasSubstr("cudaErrorNoDevice (100)"));
  fake().clear_faults();
}

// NVML has counted three, CUDA then sees none: CUDA is believed, and a line on stderr says so.
TEST_F(CudaStartTest, CudaIsBelievedWhereNvmlSaysOtherwise) {
  int32_t count = -1;
  EXPECT_EQ(t_.device_count(t_.self, &count), OUTBACK_OK);
  EXPECT_EQ(count, 3);
  ASSERT_EQ(fake().fail("cudaGetDeviceCount", 1, cudaErrorNoDevice), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(t_.device_sync(t_.self, 0), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("NVML sees 3 devices"));
  EXPECT_EQ(t_.device_count(t_.self, &count), OUTBACK_OK);
  EXPECT_EQ(count, 0);
  fake().clear_faults();
}

}  // namespace
}  // namespace outback::cuda
