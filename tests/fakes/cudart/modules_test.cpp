// Modules that a program loads while it runs, by the driver's functions.
#include <fstream>
#include <iterator>
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

  // As a program asks for the compiler's words.
  CUresult load_with_log(const char* from, std::string& log) {
    log.assign(256, '\0');
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    CUmodule made = nullptr;
    const CUresult result = load_with_options(&made, from, 2, options, values);
    log.resize(log.find('\0'));
    return result;
  }
  std::vector<std::size_t> sizes_of(CUfunction of) {
    std::vector<std::size_t> sizes;
    std::size_t offset = 0, size = 0;
    while (describe(of, sizes.size(), &offset, &size) == CUDA_SUCCESS) sizes.push_back(size);
    return sizes;
  }
  static std::string host_module() {
    std::ifstream file(FAKE_CUDART_TEST_MODULE, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  decltype(&cuModuleLoadDataEx) load_with_options =
      driver<decltype(cuModuleLoadDataEx)>("cuModuleLoadDataEx");
  decltype(&cuFuncGetParamInfo) describe =
      driver<decltype(cuFuncGetParamInfo)>("cuFuncGetParamInfo");
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
  const CUmodule module = loaded("\x50\xed\x55\xba a fatbin");
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

constexpr const char* ptx = R"(
// A comment (, of a compiler
.version 8.0
.target sm_80
.address_size 64
/* .entry none( */
.visible .entry scale(.param .u64 .ptr .global .align 16 numbers, .param .u32 count,
    .param .align 8 .b8 pairs[24])
{ ret; }
.entry nothing() { ret; }
)";

TEST_F(ModulesTest, text_has_the_kernels_that_it_defines) {
  const CUmodule module = loaded(ptx);
  CUfunction scale = nullptr, nothing = nullptr, none = nullptr;
  EXPECT_EQ(get(&scale, module, "scale"), CUDA_SUCCESS);
  EXPECT_EQ(get(&nothing, module, "nothing"), CUDA_SUCCESS);
  EXPECT_EQ(get(&none, module, "none"), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(sizes_of(scale), (std::vector<std::size_t>{8, 4, 24}));
  EXPECT_EQ(sizes_of(nothing), (std::vector<std::size_t>{}));
  EXPECT_EQ(run(nothing, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(fake_cudart_recorded(), 1);
  EXPECT_EQ(unload(module), CUDA_SUCCESS);
}

TEST_F(ModulesTest, text_that_is_none_is_refused_with_the_compilers_words) {
  std::string log;
  EXPECT_EQ(load_with_log("no assembly language", log), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(log.find("Missing .version directive"), std::string::npos) << log;
  EXPECT_EQ(load_with_log(".version 8.0 .entry f(.param .u64", log), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(log.find("the end is missing"), std::string::npos) << log;
  CUmodule none = nullptr;
  EXPECT_EQ(load(&none, "\x01\x02\x03\x04"), CUDA_ERROR_INVALID_IMAGE);
}

TEST_F(ModulesTest, an_image_for_another_machine_is_refused) {
  std::vector<std::byte> foreign = image();
  const Elf64_Half machine = EM_RISCV;
  std::memcpy(foreign.data() + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof(machine));
  CUmodule none = nullptr;
  EXPECT_EQ(load(&none, foreign.data()), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

class HostModulesTest : public ModulesTest {
 protected:
  void SetUp() override {
    ModulesTest::SetUp();
    module_ = loaded(host_module().data());
    numbers_ = reinterpret_cast<int*>(new_memory(4 * sizeof(int)));
    const int given[] = {1, 2, 3, 4};
    ASSERT_EQ(fake_cudart_poke(numbers_, given, sizeof(given)), 0);
  }
  void TearDown() override {
    EXPECT_EQ(module_ == nullptr ? CUDA_SUCCESS : unload(module_), CUDA_SUCCESS);
    EXPECT_CUDA(cudaFree(numbers_));
    ModulesTest::TearDown();
  }
  CUfunction kernel(const char* name) {
    CUfunction found = nullptr;
    EXPECT_EQ(get(&found, module_, name), CUDA_SUCCESS);
    return found;
  }
  // Of the stream, on 2 blocks of 2 threads.
  CUresult scale(cudaStream_t on, int factor) {
    int count = 4;
    void* arguments[] = {&numbers_, &count, &factor};
    return launch(kernel("scale"), 2, 1, 1, 2, 1, 1, 0, on, arguments, nullptr);
  }
  std::vector<int> numbers() {
    std::vector<int> read(4);
    EXPECT_EQ(fake_cudart_peek(read.data(), numbers_, 4 * sizeof(int)), 0);
    return read;
  }

  CUmodule module_ = nullptr;
  int* numbers_ = nullptr;
};

TEST_F(HostModulesTest, their_kernels_compute_in_the_streams_order) {
  const cudaStream_t stream = new_stream();
  {
    gate closed(stream);
    EXPECT_EQ(scale(stream, 10), CUDA_SUCCESS);
    EXPECT_EQ(numbers(), (std::vector<int>{1, 2, 3, 4}));
  }
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(numbers(), (std::vector<int>{10, 20, 30, 40}));
  EXPECT_EQ(sizes_of(kernel("scale")), (std::vector<std::size_t>{8, 4, 4}));
  CUfunction none = nullptr;
  EXPECT_EQ(get(&none, module_, "none"), CUDA_ERROR_NOT_FOUND);
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

TEST_F(HostModulesTest, their_kernels_have_limits_and_shared_memory) {
  void* arguments[] = {&numbers_};
  const CUfunction which = kernel("local_size");
  const auto run_with = [&](unsigned threads, unsigned shared) {
    return launch(which, 1, 1, 1, threads, 1, 1, shared, nullptr, arguments, nullptr);
  };
  int most = 0;
  EXPECT_EQ(ask(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, which), CUDA_SUCCESS);
  EXPECT_EQ(most, 64);
  EXPECT_EQ(run_with(65, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(run_with(64, 1000), CUDA_SUCCESS);
  EXPECT_CUDA(cudaDeviceSynchronize());
  EXPECT_EQ(numbers()[0], 1000);
}

TEST_F(HostModulesTest, a_kernel_that_faults_loses_the_device) {
  EXPECT_EQ(launch(kernel("fault"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  fake_cudart_revive(0);
}

TEST_F(HostModulesTest, a_module_goes_after_its_launches) {
  const cudaStream_t stream = new_stream();
  {
    gate closed(stream);
    EXPECT_EQ(scale(stream, 2), CUDA_SUCCESS);
    EXPECT_EQ(unload(module_), CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("launches of the module's kernels are not done");
  }
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  const CUfunction gone = kernel("fault");
  EXPECT_EQ(unload(module_), CUDA_SUCCESS);
  module_ = nullptr;
  EXPECT_EQ(launch(gone, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_ERROR_INVALID_HANDLE);
  expect_misuse("fault: its module was unloaded");
  EXPECT_CUDA(cudaStreamDestroy(stream));
}

TEST_F(HostModulesTest, a_module_goes_after_graphs_with_its_launches) {
  const cudaStream_t stream = new_stream();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  EXPECT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  EXPECT_EQ(scale(stream, 3), CUDA_SUCCESS);
  EXPECT_CUDA(cudaStreamEndCapture(stream, &graph));
  EXPECT_CUDA(cudaGraphInstantiate(&ready, graph, 0));
  EXPECT_EQ(unload(module_), CUDA_ERROR_INVALID_HANDLE);
  expect_misuse("in a graph");
  EXPECT_CUDA(cudaGraphLaunch(ready, stream));
  EXPECT_CUDA(cudaGraphLaunch(ready, stream));
  EXPECT_CUDA(cudaStreamSynchronize(stream));
  EXPECT_EQ(numbers(), (std::vector<int>{9, 18, 27, 36}));
  EXPECT_CUDA(cudaGraphExecDestroy(ready));
  EXPECT_CUDA(cudaGraphDestroy(graph));
  EXPECT_CUDA(cudaStreamDestroy(stream));
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
