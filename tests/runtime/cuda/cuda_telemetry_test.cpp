// What NVML measures, in the contract's units; and its errors, each of each function.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <map>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "tests/fakes/nvml/nvml_api.h"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class F>
F* of_nvml(const char* name) {
  void* const library = dlopen(std::getenv("OUTBACK_NVML"), RTLD_LAZY | RTLD_LOCAL);
  return reinterpret_cast<F*>(dlsym(library, name));
}
#define OUTBACK_NVML_CONTROL(name) (*of_nvml<decltype(name)>(#name))

// Which function of NVML's answers which metric.
const std::map<outback_metric, const char*> functions = {
    {OUTBACK_METRIC_UTILIZATION, "nvmlDeviceGetUtilizationRates"},
    {OUTBACK_METRIC_MEMORY_UTILIZATION, "nvmlDeviceGetUtilizationRates"},
    {OUTBACK_METRIC_MEMORY_USED, "nvmlDeviceGetComputeRunningProcesses_v3"},
    {OUTBACK_METRIC_TEMPERATURE, "nvmlDeviceGetTemperature"},
    {OUTBACK_METRIC_POWER, "nvmlDeviceGetPowerUsage"},
    {OUTBACK_METRIC_CLOCK, "nvmlDeviceGetClockInfo"},
    {OUTBACK_METRIC_DEVICE_MEMORY_USED, "nvmlDeviceGetMemoryInfo"},
};

class CudaTelemetryTest : public testing::Test {
 protected:
  ~CudaTelemetryTest() override { OUTBACK_NVML_CONTROL(fake_nvml_clear_faults)(); }

  outback_status read(outback_metric metric, int64_t* value) {
    return t_.telemetry->read(t_.self, 0, metric, value);
  }
  int64_t value_of(outback_metric metric) {
    int64_t value = -77;
    EXPECT_EQ(read(metric, &value), OUTBACK_OK) << t_.last_error(t_.self);
    return value;
  }

  const fake_functions& fake_ = fake();
  cuda_runtime runtime_;
  const outback_runtime& t_ = *table_of(runtime_);
};

TEST_F(CudaTelemetryTest, EachMetricHasItsUnit) {
  OUTBACK_NVML_CONTROL(fake_nvml_measure)(37, 12, 41, 123456, 1980);
  EXPECT_EQ(value_of(OUTBACK_METRIC_UTILIZATION), 37);
  EXPECT_EQ(value_of(OUTBACK_METRIC_MEMORY_UTILIZATION), 12);
  EXPECT_EQ(value_of(OUTBACK_METRIC_TEMPERATURE), 41'000);
  EXPECT_EQ(value_of(OUTBACK_METRIC_POWER), 123'456);
  EXPECT_EQ(value_of(OUTBACK_METRIC_CLOCK), 1'980'000'000);
}

TEST_F(CudaTelemetryTest, MemoryIsTheDevicesAndTheProcesses) {
  void* ptr = nullptr;
  ASSERT_EQ(t_.mem_alloc(t_.self, 0, 1 << 20, &ptr), OUTBACK_OK);
  const auto used = int64_t(fake().memory_used(0));
  EXPECT_GE(used, 1 << 20);
  EXPECT_EQ(value_of(OUTBACK_METRIC_DEVICE_MEMORY_USED), used);
  EXPECT_EQ(value_of(OUTBACK_METRIC_MEMORY_USED), used);
  outback_processes all = {};
  all.struct_size = sizeof(all);
  ASSERT_EQ(t_.telemetry->processes(t_.self, 0, &all), OUTBACK_OK);
  ASSERT_EQ(all.count, 2u) << "the fake has one more";
  const auto& ours = all.list[all.list[0].pid == getpid() ? 0 : 1];
  EXPECT_EQ(ours.pid, getpid());
  EXPECT_EQ(int64_t(ours.memory), used);
  EXPECT_EQ(t_.mem_free(t_.self, 0, ptr), OUTBACK_OK);
}

TEST_F(CudaTelemetryTest, EachErrorArrives) {
  struct expected {
    nvmlReturn_t error;
    outback_status status;
    const char* words;
  };
  for (const auto& [error, status, words] :
       {expected{NVML_ERROR_NOT_SUPPORTED, OUTBACK_UNSUPPORTED, "Not Supported"},
        expected{NVML_ERROR_NO_PERMISSION, OUTBACK_UNSUPPORTED, "Insufficient Permissions"},
        expected{NVML_ERROR_UNKNOWN, OUTBACK_INTERNAL, "Unknown Error"}}) {
    for (const auto& [metric, function] : functions) {
      SCOPED_TRACE(std::string(function) + ": " + words);
      ASSERT_EQ(OUTBACK_NVML_CONTROL(fake_nvml_fail)(function, 1, error), 0);
      int64_t value = -77;
      EXPECT_EQ(read(metric, &value), status);
      EXPECT_EQ(value, -77);
      EXPECT_THAT(t_.last_error(t_.self), AllOf(HasSubstr(function), HasSubstr(words)));
      value_of(metric);  // the next one is answered again
    }
  }
}

// Once NVML has said so, CUDA is not asked any more.
TEST_F(CudaTelemetryTest, ALostDeviceStaysLost) {
  for (const auto& [metric, function] : functions) {
    SCOPED_TRACE(function);
    cuda_runtime runtime;
    const outback_runtime& t = *table_of(runtime);
    ASSERT_EQ(OUTBACK_NVML_CONTROL(fake_nvml_fail)(function, 1, NVML_ERROR_GPU_IS_LOST), 0);
    int64_t value = -77;
    EXPECT_EQ(t.telemetry->read(t.self, 0, metric, &value), OUTBACK_DEVICE_LOST);
    EXPECT_EQ(value, -77);
    EXPECT_THAT(t.last_error(t.self), AllOf(HasSubstr(function), HasSubstr("GPU is lost")));
    EXPECT_EQ(t.telemetry->read(t.self, 0, metric, &value), OUTBACK_DEVICE_LOST);
    EXPECT_EQ(t.device_sync(t.self, 0), OUTBACK_DEVICE_LOST);
    EXPECT_THAT(t.last_error(t.self),
                AllOf(HasSubstr("device 0 was lost before"), HasSubstr(function)));
  }
}

}  // namespace
}  // namespace outback::cuda
