// How many devices are counted before CUDA is started: those that CUDA_VISIBLE_DEVICES names of the
// ones that NVML lists. tests/layers/visible_devices_test.cpp has more lists, which are read alike.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "backend_template/runtimes/cuda/machine.hpp"
#include "backend_template/runtimes/cuda/nvml.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

constexpr int32_t only_cuda_can_tell = -1;

// Three devices, of which the second is divided in two instances.
class CudaCountTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("FAKE_CUDA_MIG", "1:2", 1); }
  void SetUp() override { fake(); }

  static int32_t counted(const std::string& list) {
    setenv("CUDA_VISIBLE_DEVICES", list.c_str(), 1);
    return count_without_cuda();
  }
  static std::string uuid(nvmlDevice_t of) {
    char text[nvml_uuid_size] = {};
    EXPECT_EQ(loaded_nvml().functions.uuid(of, text, sizeof(text)), nvml_success);
    return text;
  }
  static nvmlDevice_t gpu(unsigned index) {
    nvmlDevice_t found = nullptr;
    EXPECT_EQ(loaded_nvml().functions.by_index(index, &found), nvml_success);
    return found;
  }
  static std::string uuid_of_instance(unsigned index) {
    library_function<nvml_result(nvmlDevice_t, unsigned, nvmlDevice_t*)> instance{
        "nvmlDeviceGetMigDeviceHandleByIndex"};
    look_up(dlopen(std::getenv("OUTBACK_NVML"), RTLD_LAZY), instance);
    nvmlDevice_t found = nullptr;
    EXPECT_EQ(instance(gpu(1), index, &found), nvml_success);
    return uuid(found);
  }
};

TEST_F(CudaCountTest, Indices) {
  EXPECT_EQ(counted("2,0"), 2);
  EXPECT_EQ(counted(" 0 "), 1);
  EXPECT_EQ(counted("2gpu,0"), 2);
  EXPECT_EQ(counted("0,3,2"), 1);
  EXPECT_EQ(counted("0,-1,2"), 1);
  EXPECT_EQ(counted("0,2,0"), 0);
  EXPECT_EQ(counted("99999999999999999999,0"), 0);
}

TEST_F(CudaCountTest, AnEmptyListAndOneOfOtherWordsLeaveNone) {
  EXPECT_EQ(counted(""), 0);
  EXPECT_EQ(counted(" "), 0);
  EXPECT_EQ(counted("NoDevFiles"), 0);
}

TEST_F(CudaCountTest, UuidsMayBeCut) {
  EXPECT_EQ(counted(uuid(gpu(0)) + "," + uuid(gpu(2)).substr(0, 12)), 2);
  EXPECT_EQ(counted("GPU-"), 0);  // all begin like that
  EXPECT_EQ(counted(uuid(gpu(0)) + ",GPU-zz," + uuid(gpu(2))), 1);
  EXPECT_EQ(counted(uuid(gpu(0)) + ",2"), 1);
  EXPECT_EQ(counted("0," + uuid(gpu(2))), 1);
}

TEST_F(CudaCountTest, OfInstancesThereIsOne) {
  EXPECT_EQ(counted(uuid_of_instance(1)), 1);
  EXPECT_EQ(counted(uuid_of_instance(1) + "," + uuid_of_instance(0)), 1);
  EXPECT_EQ(counted("MIG-33"), only_cuda_can_tell);
  EXPECT_EQ(counted("MIG-" + uuid(gpu(1)) + "/1/0"), only_cuda_can_tell);
}

TEST_F(CudaCountTest, OnlyCudaKnowsWhatAWholeDividedDeviceIs) {
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(count_without_cuda(), only_cuda_can_tell);
  EXPECT_EQ(counted("1"), only_cuda_can_tell);
  EXPECT_EQ(counted(uuid(gpu(1))), only_cuda_can_tell);
}

}  // namespace
}  // namespace outback::cuda
