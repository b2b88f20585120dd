// The fake NVML: devices, instances, what they measure, planned faults.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/fakes/cudart/devices.hpp"
#include "tests/fakes/nvml/nvml_api.h"

namespace {

// Of the machine that all tests of this program see: two devices, the second one partitioned.
const bool environment_is_set = [] {
  setenv("FAKE_CUDA_DEVICES", "2", 1);
  setenv("FAKE_CUDA_MIG", "1:3", 1);
  setenv("FAKE_CUDA_MEMORY", "48M", 1);
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  setenv("FAKE_NVML_FAULTS", "nvmlDeviceGetIndex:2=15", 1);
  return true;
}();

class NvmlTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS); }
  void TearDown() override {
    fake_nvml_clear_faults();
    EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
  }
  static nvmlDevice_t device(unsigned index) {
    nvmlDevice_t found = nullptr;
    EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(index, &found), NVML_SUCCESS);
    return found;
  }
  static std::string uuid(nvmlDevice_t of) {
    char text[96] = "";
    EXPECT_EQ(nvmlDeviceGetUUID(of, text, sizeof(text)), NVML_SUCCESS);
    return text;
  }
};

TEST(NvmlWithoutInit, AnswersNothing) {
  unsigned count = 7;
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(count, 7u);
}

TEST_F(NvmlTest, FaultsOfTheEnvironmentComeAtTheirCall) {
  unsigned index = 7;
  EXPECT_EQ(nvmlDeviceGetIndex(device(1), &index), NVML_SUCCESS);
  EXPECT_EQ(index, 1u);
  EXPECT_EQ(nvmlDeviceGetIndex(device(1), &index), NVML_ERROR_GPU_IS_LOST);
  EXPECT_EQ(nvmlDeviceGetIndex(device(1), &index), NVML_SUCCESS);
}

TEST_F(NvmlTest, SeesEveryDeviceWhateverCudaMaySee) {
  unsigned count = 0;
  ASSERT_EQ(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 2u);
  nvmlDevice_t none = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleByIndex_v2(2, &none), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlTest, ADeviceIsFoundByItsUuidAndItsPciId) {
  for (const unsigned index : {0u, 1u}) {
    nvmlDevice_t found = nullptr;
    ASSERT_EQ(nvmlDeviceGetHandleByUUID(uuid(device(index)).c_str(), &found), NVML_SUCCESS);
    EXPECT_EQ(found, device(index));
    const std::string pci = "00000000:0" + std::to_string(index + 1) + ":00.0";
    ASSERT_EQ(nvmlDeviceGetHandleByPciBusId_v2(pci.c_str(), &found), NVML_SUCCESS);
    EXPECT_EQ(found, device(index));
  }
  nvmlDevice_t none = nullptr;
  EXPECT_EQ(nvmlDeviceGetHandleByUUID("GPU-1", &none), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlDeviceGetHandleByPciBusId_v2("0000:09:00.0", &none), NVML_ERROR_NOT_FOUND);
}

TEST_F(NvmlTest, TextsNeedRoom) {
  char small[8];
  EXPECT_EQ(nvmlDeviceGetUUID(device(0), small, sizeof(small)), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(nvmlDeviceGetName(device(0), small, sizeof(small)), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(nvmlDeviceGetUUID(nullptr, small, sizeof(small)), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlTest, InstancesAreDevicesOfTheirOwn) {
  unsigned current = 7, pending = 7, most = 7;
  ASSERT_EQ(nvmlDeviceGetMigMode(device(1), &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 1u);
  ASSERT_EQ(nvmlDeviceGetMigMode(device(0), &current, &pending), NVML_SUCCESS);
  EXPECT_EQ(current, 0u);
  ASSERT_EQ(nvmlDeviceGetMaxMigDeviceCount(device(1), &most), NVML_SUCCESS);
  EXPECT_EQ(most, 7u);
  nvmlDevice_t instance = nullptr, whole = nullptr;
  ASSERT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(device(1), 2, &instance), NVML_SUCCESS);
  EXPECT_EQ(uuid(instance).substr(0, 4), "MIG-");
  ASSERT_EQ(nvmlDeviceGetDeviceHandleFromMigDeviceHandle(instance, &whole), NVML_SUCCESS);
  EXPECT_EQ(whole, device(1));
  unsigned id = 7;
  ASSERT_EQ(nvmlDeviceGetGpuInstanceId(instance, &id), NVML_SUCCESS);
  EXPECT_EQ(id, 3u);
  ASSERT_EQ(nvmlDeviceGetComputeInstanceId(instance, &id), NVML_SUCCESS);
  EXPECT_EQ(id, 0u);
  EXPECT_EQ(nvmlDeviceGetMigDeviceHandleByIndex(device(1), 3, &instance), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlDeviceGetGpuInstanceId(device(0), &id), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlTest, MeasuresWhatItWasTold) {
  fake_nvml_measure(50, 20, 66, 250000, 1500);
  nvmlUtilization_t rates = {};
  unsigned degrees = 0, milliwatts = 0, megahertz = 0;
  ASSERT_EQ(nvmlDeviceGetUtilizationRates(device(0), &rates), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceGetTemperature(device(0), NVML_TEMPERATURE_GPU, &degrees), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceGetPowerUsage(device(0), &milliwatts), NVML_SUCCESS);
  ASSERT_EQ(nvmlDeviceGetClockInfo(device(0), NVML_CLOCK_SM, &megahertz), NVML_SUCCESS);
  EXPECT_EQ(rates.gpu, 50u);
  EXPECT_EQ(rates.memory, 20u);
  EXPECT_EQ(degrees, 66u);
  EXPECT_EQ(milliwatts, 250000u);
  EXPECT_EQ(megahertz, 1500u);
  nvmlTemperature_t temperature = {};
  EXPECT_EQ(nvmlDeviceGetTemperatureV(device(0), &temperature),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  temperature.version = nvmlTemperature_v1;
  ASSERT_EQ(nvmlDeviceGetTemperatureV(device(0), &temperature), NVML_SUCCESS);
  EXPECT_EQ(temperature.temperature, 66);
}

TEST_F(NvmlTest, MemoryIsTheDevices) {
  nvmlMemory_t memory = {};
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(device(0), &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, 48u << 20);
  EXPECT_EQ(memory.free + memory.used, memory.total);
  nvmlMemory_v2_t newer = {};
  EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(device(0), &newer), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  newer.version = nvmlMemory_v2;
  ASSERT_EQ(nvmlDeviceGetMemoryInfo_v2(device(0), &newer), NVML_SUCCESS);
  EXPECT_EQ(newer.total, 48u << 20);
}

TEST_F(NvmlTest, ProcessesNeedRoomForAll) {
  unsigned count = 0;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &count, nullptr),
            NVML_ERROR_INSUFFICIENT_SIZE);
  ASSERT_EQ(count, 2u);
  nvmlProcessInfo_t processes[2] = {};
  ASSERT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(device(0), &count, processes), NVML_SUCCESS);
  EXPECT_EQ(processes[1].pid, 1u);
}

TEST_F(NvmlTest, AFaultIsOfItsCallAlone) {
  ASSERT_EQ(fake_nvml_fail("nvmlDeviceGetPowerUsage", 2, NVML_ERROR_NOT_SUPPORTED), 0);
  const auto before = fake_nvml_calls("nvmlDeviceGetPowerUsage");
  unsigned milliwatts = 0;
  EXPECT_EQ(nvmlDeviceGetPowerUsage(device(0), &milliwatts), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetPowerUsage(device(0), &milliwatts), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetPowerUsage(device(0), &milliwatts), NVML_SUCCESS);
  EXPECT_EQ(fake_nvml_calls("nvmlDeviceGetPowerUsage"), before + 3);
  EXPECT_EQ(fake_nvml_fail("nvmlDeviceGetPowr", 1, 3), -1);
  EXPECT_STREQ(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED), "Not Supported");
}

}  // namespace
