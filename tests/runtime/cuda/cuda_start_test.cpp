// Starting CUDA: what fails then may be tried again, and says what it was.
#include <gmock/gmock.h>

#include <ostream>
#include <string>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

using testing::AllOf;
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

struct machine_error {
  int error;
  const char* name;
  const char* advice;  // a part of what the user is told to do
};

void PrintTo(const machine_error& each, std::ostream* out) {
  *out << each.name;
}

class CudaMachineErrorTest : public testing::TestWithParam<machine_error> {
 protected:
  void SetUp() override {
    fake().clear_faults();
    ASSERT_EQ(fake().fail("cudaGetDeviceCount", 0, GetParam().error), 0);
  }
  void TearDown() override { fake().clear_faults(); }

  void expect_told() {
    const machine_error& each = GetParam();
    EXPECT_THAT(t_.last_error(t_.self),
                AllOf(HasSubstr(each.name), HasSubstr("(" + std::to_string(each.error) + "): "),
                      HasSubstr(", in cudaGetDeviceCount. "), HasSubstr(each.advice)));
  }
  int32_t count() {
    int32_t count = -1;
    EXPECT_EQ(t_.device_count(t_.self, &count), OUTBACK_OK) << t_.last_error(t_.self);
    return count;
  }

  cuda_runtime runtime_;
  const outback_runtime& t_ = *table_of(runtime_);
};

// As on a machine whose driver is broken for NVML too: the count starts CUDA.
TEST_P(CudaMachineErrorTest, ThereAreNoDevicesAndEverySlotSaysWhy) {
  ASSERT_NE(t_.device_sync(t_.self, 0), OUTBACK_OK);
  EXPECT_EQ(count(), 0);
  EXPECT_EQ(fake_cuda_functions().cudaGetLastError(), cudaSuccess) << "left for somebody else";
  void *memory = nullptr, *pinned = nullptr;
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  outback_stream stream = nullptr;
  int64_t value = 0;
  EXPECT_NE(t_.mem_alloc(t_.self, 0, 64, &memory), OUTBACK_OK);
  expect_told();
  EXPECT_NE(t_.device_info(t_.self, 0, &info), OUTBACK_OK);
  expect_told();
  EXPECT_NE(t_.device_sync(t_.self, 0), OUTBACK_OK);
  expect_told();
  EXPECT_NE(t_.streams->create(t_.self, 0, 0, &stream), OUTBACK_OK);
  expect_told();
  EXPECT_NE(t_.host_memory->alloc(t_.self, 64, &pinned), OUTBACK_OK);
  expect_told();
  EXPECT_NE(t_.telemetry->read(t_.self, 0, OUTBACK_METRIC_POWER, &value), OUTBACK_OK);
  expect_told();
  EXPECT_NE(t_.device_state->select(t_.self, 0), OUTBACK_OK);
  expect_told();
  outback_pointer_info pointer = {};
  pointer.struct_size = sizeof(pointer);
  EXPECT_EQ(t_.host_memory->info(t_.self, &value, &pointer), OUTBACK_OK);
  EXPECT_EQ(pointer.pinned, 0);
  EXPECT_EQ(count(), 0);
}

// NVML has counted them, which CUDA cannot use.
TEST_P(CudaMachineErrorTest, WhatNvmlCountedIsNotThereOnceCudaDoesNotStart) {
  EXPECT_EQ(count(), 3);
  testing::internal::CaptureStderr();  // for those that are an answer for good, a line says so
  EXPECT_NE(t_.device_sync(t_.self, 0), OUTBACK_OK);
  testing::internal::GetCapturedStderr();
  expect_told();
  EXPECT_EQ(count(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Errors, CudaMachineErrorTest,
    testing::Values(
        machine_error{3, "cudaErrorInitializationError", "The driver does not start"},
        machine_error{34, "cudaErrorStubLibrary", "out of LD_LIBRARY_PATH"},
        machine_error{35, "cudaErrorInsufficientDriver", "The driver serves CUDA 13.0 and this"},
        machine_error{46, "cudaErrorDevicesUnavailable", "nvidia-smi -q -d COMPUTE"},
        machine_error{100, "cudaErrorNoDevice", "CUDA_VISIBLE_DEVICES"},
        machine_error{101, "cudaErrorInvalidDevice", "nvidia-smi -L"},
        machine_error{802, "cudaErrorSystemNotReady", "systemctl status nvidia-fabricmanager"},
        machine_error{803, "cudaErrorSystemDriverMismatch", "restart the machine"},
        machine_error{804, "cudaErrorCompatNotSupportedOnDevice", "cuda-compat"},
        machine_error{999, "cudaErrorUnknown", "nvidia_uvm"}),
    [](const auto& info) { return std::string(info.param.name); });

// The fabric manager comes up after us.
TEST_F(CudaStartTest, AMachineThatGetsReadyIsUsed) {
  ASSERT_EQ(fake().fail("cudaGetDeviceCount", 1, cudaErrorSystemNotReady), 0);
  EXPECT_EQ(t_.device_sync(t_.self, 0), OUTBACK_INTERNAL);
  int32_t count = -1;
  EXPECT_EQ(t_.device_count(t_.self, &count), OUTBACK_OK);
  EXPECT_EQ(count, 3);
  EXPECT_EQ(t_.device_sync(t_.self, 0), OUTBACK_OK) << t_.last_error(t_.self);
}

// A device that somebody has for himself is found when its context is made.
TEST_F(CudaStartTest, ADeviceThatOthersHaveIsToldWithWhatToDo) {
  ASSERT_EQ(fake().fail("cuDevicePrimaryCtxRetain", 1, cudaErrorDevicesUnavailable), 0);
  void* memory = nullptr;
  EXPECT_EQ(t_.mem_alloc(t_.self, 0, 64, &memory), OUTBACK_INTERNAL);
  EXPECT_THAT(t_.last_error(t_.self),
              AllOf(HasSubstr("(46): "), HasSubstr("nvidia-smi -q -d COMPUTE")));
  EXPECT_EQ(t_.mem_alloc(t_.self, 0, 64, &memory), OUTBACK_OK);
  EXPECT_EQ(t_.mem_free(t_.self, 0, memory), OUTBACK_OK);
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
