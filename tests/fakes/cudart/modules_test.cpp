// Modules that a program loads while it runs, by the driver's functions.
#include <string>

#include "tests/fakes/cudart/fake_kernels.h"
#include "tests/fakes/cudart/fake_test.hpp"
#include "tests/fakes/cudart/test_image.hpp"

namespace fake_cuda {
namespace {

template <class Function>
Function* driver(const char* name) {
  void* const found = fake_cudart_driver_function(name, 13000);
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<Function*>(found);
}

class ModulesTest : public FakeTest {
 protected:
  void SetUp() override {
    FakeTest::SetUp();
    ASSERT_EQ(fake_cudart_record(nullptr), 0);
  }
  void TearDown() override {
    fake_cudart_record_stop();
    fake_cudart_record_clear();
    FakeTest::TearDown();
  }
  CUmodule loaded(const void* from) {
    CUmodule made = nullptr;
    EXPECT_EQ(load(&made, from), CUDA_SUCCESS);
    return made;
  }
  CUresult run(CUfunction which, void** arguments, unsigned block = 32, unsigned shared = 0) {
    return launch(which, 2, 1, 1, block, 1, 1, shared, nullptr, arguments, nullptr);
  }

  decltype(&cuModuleLoadData) load = driver<decltype(cuModuleLoadData)>("cuModuleLoadData");
  decltype(&cuModuleUnload) unload = driver<decltype(cuModuleUnload)>("cuModuleUnload");
  decltype(&cuModuleGetFunction) get = driver<decltype(cuModuleGetFunction)>("cuModuleGetFunction");
  decltype(&cuLaunchKernel) launch = driver<decltype(cuLaunchKernel)>("cuLaunchKernel");
  decltype(&cuFuncSetAttribute) set = driver<decltype(cuFuncSetAttribute)>("cuFuncSetAttribute");
  decltype(&cuFuncGetAttribute) ask = driver<decltype(cuFuncGetAttribute)>("cuFuncGetAttribute");
};

TEST_F(ModulesTest, a_kernel_of_an_image_is_launched_with_what_it_names) {
  const CUmodule module = loaded(image().data());
  CUfunction twice = nullptr, again = nullptr, none = nullptr;
  EXPECT_EQ(get(&twice, module, "twice"), CUDA_SUCCESS);
  EXPECT_EQ(get(&again, module, "twice"), CUDA_SUCCESS);
  EXPECT_EQ(twice, again);
  EXPECT_EQ(get(&none, module, "thrice"), CUDA_ERROR_NOT_FOUND);
  std::byte* memory = new_memory(64);
  int count = 16;
  std::vector<std::byte> large(20000);
  void* arguments[] = {&memory, &count, large.data()};
  EXPECT_EQ(run(twice, arguments), CUDA_SUCCESS);
  ASSERT_EQ(fake_cudart_recorded(), 1);
  const std::string line = fake_cudart_recorded_line(0);
  EXPECT_EQ(line.find("kernel\tnow\t0\t0\t2x1x1\t32x1x1\t0\ttwice\t0.0=0:"), 0u) << line;
  EXPECT_EQ(unload(module), CUDA_SUCCESS);
  EXPECT_CUDA(cudaFree(memory));
}

TEST_F(ModulesTest, code_that_only_a_driver_can_read_has_any_kernel) {
  const CUmodule module = loaded(".version 8.0");
  CUfunction any = nullptr;
  EXPECT_EQ(get(&any, module, "any"), CUDA_SUCCESS);
  EXPECT_EQ(run(any, nullptr, 2048), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(run(any, nullptr, 32, 50000), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(any, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000), CUDA_SUCCESS);
  EXPECT_EQ(run(any, nullptr, 32, 50000), CUDA_SUCCESS);
  int value = 0;
  EXPECT_EQ(ask(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, any), CUDA_SUCCESS);
  EXPECT_EQ(value, 60000);
  EXPECT_EQ(unload(module), CUDA_SUCCESS);
}

TEST_F(ModulesTest, a_module_is_gone_once_it_was_unloaded) {
  const CUmodule module = loaded(".version 8.0");
  EXPECT_EQ(unload(module), CUDA_SUCCESS);
  CUfunction any = nullptr;
  EXPECT_EQ(get(&any, module, "any"), CUDA_ERROR_INVALID_HANDLE);
  expect_misuse("the module was unloaded");
}

TEST_F(ModulesTest, memory_says_where_it_is) {
  const auto where = driver<decltype(cuPointerGetAttribute)>("cuPointerGetAttribute");
  std::byte* const memory = new_memory(64);
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  CUdeviceptr found = 0;
  EXPECT_EQ(where(&found, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address + 8), CUDA_SUCCESS);
  EXPECT_EQ(found, address + 8);
  EXPECT_EQ(where(&found, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address + 8), CUDA_SUCCESS);
  EXPECT_EQ(found, address);
  unsigned type = 0;
  EXPECT_EQ(where(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  int device = -1;
  EXPECT_EQ(where(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  int own = 0;
  EXPECT_EQ(where(&found, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, reinterpret_cast<CUdeviceptr>(&own)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cudaFree(memory));
}

}  // namespace
}  // namespace fake_cuda
