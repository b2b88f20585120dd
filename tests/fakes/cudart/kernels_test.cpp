// Launches of kernels: what is refused, what is recorded, and bodies that compute.
#include <cstring>
#include <numeric>

#include "tests/fakes/cudart/fake_kernels.h"
#include "tests/fakes/cudart/fake_test.hpp"

// What nvcc's output calls.
extern "C" {
void** __cudaRegisterFatBinary(void* binary);
void __cudaRegisterFunction(void** binary, const char* host, char* device, const char* symbol,
                            int threads, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void** binary, char* host, char* device, const char* symbol, int external,
                       size_t size, int constant, int global);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* on);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* on);
cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* function);
cudaError_t __cudaLaunchKernel(cudaKernel_t handle, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t on);
}

namespace fake_cuda {
namespace {

// Stand for kernels: nobody calls them.
void plain() {}
void scale() {}
void unknown() {}
char variable[64];

void* address_of(void (*function)()) {
  return reinterpret_cast<void*>(function);
}

void scale_body(const fake_cudart_shape* shape, void** arguments, void*) {
  float* const values = *static_cast<float**>(arguments[0]);
  const float by = *static_cast<float*>(arguments[1]);
  for (unsigned i = 0; i < shape->grid[0] * shape->block[0]; ++i) values[i] *= by;
}

class KernelsTest : public FakeTest {
 protected:
  static void SetUpTestSuite() {
    static void** const binary = __cudaRegisterFatBinary(nullptr);
    const auto add = [](void (*host)(), const char* symbol) {
      __cudaRegisterFunction(binary, reinterpret_cast<const char*>(host), nullptr, symbol, -1,
                             nullptr, nullptr, nullptr, nullptr, nullptr);
    };
    add(&plain, "_ZN4acme5plainIfEEvPT_");
    __cudaRegisterVar(binary, variable, nullptr, "variable", 0, sizeof(variable), 0, 1);
    const size_t sizes[] = {sizeof(float*), sizeof(float)};
    ASSERT_EQ(fake_cudart_set_body(address_of(&scale), "scale", sizes, 2, &scale_body, nullptr), 0);
  }
  void SetUp() override {
    FakeTest::SetUp();
    ASSERT_EQ(fake_cudart_record(nullptr), 0);
  }
  void TearDown() override {
    fake_cudart_record_stop();
    fake_cudart_record_clear();
    FakeTest::TearDown();
  }

  static std::vector<std::string> record() {
    std::vector<std::string> lines;
    for (int i = 0; i < fake_cudart_recorded(); ++i) {
      lines.emplace_back(fake_cudart_recorded_line(i));
    }
    return lines;
  }
  static cudaError_t launch(void (*function)(), cudaStream_t on = nullptr, dim3 grid = {2, 3, 4},
                            dim3 block = {32, 2, 1}, size_t shared = 16) {
    return cudaLaunchKernel(address_of(function), grid, block, nullptr, shared, on);
  }
};

TEST_F(KernelsTest, a_launch_is_recorded_with_name_shape_and_stream) {
  cudaStream_t first = new_stream(), second = new_stream();
  EXPECT_CUDA(launch(&plain));
  EXPECT_CUDA(launch(&plain, second));
  const auto lines = record();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "kernel\tnow\t0\t0\t2x3x4\t32x2x1\t16\tvoid acme::plain<float>(float*)\tunknown");
  EXPECT_NE(lines[1].substr(0, 15), lines[0].substr(0, 15));
  EXPECT_CUDA(cudaStreamDestroy(first));
  EXPECT_CUDA(cudaStreamDestroy(second));
}

TEST_F(KernelsTest, a_launch_that_cannot_be_is_refused) {
  EXPECT_EQ(launch(&unknown), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(launch(&plain, nullptr, {0, 1, 1}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(&plain, nullptr, {1, 65536, 1}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(&plain, nullptr, {1, 1, 1}, {1024, 2, 1}), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(&plain, nullptr, {1, 1, 1}, {1, 1, 1}, 50000), cudaErrorInvalidValue);
  EXPECT_CUDA(
      cudaFuncSetAttribute(address_of(&plain), cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
  EXPECT_CUDA(launch(&plain, nullptr, {1, 1, 1}, {1, 1, 1}, 50000));
  EXPECT_EQ(
      cudaFuncSetAttribute(address_of(&plain), cudaFuncAttributeMaxDynamicSharedMemorySize, 300000),
      cudaErrorInvalidValue);
  EXPECT_EQ(fake_cudart_recorded(), 1);
}

TEST_F(KernelsTest, a_stream_of_another_device_is_refused) {
  cudaStream_t here = new_stream();
  EXPECT_CUDA(cudaSetDevice(1));
  EXPECT_EQ(launch(&plain, here), cudaErrorInvalidResourceHandle);
  EXPECT_CUDA(cudaSetDevice(0));
  EXPECT_CUDA(cudaStreamDestroy(here));
}

TEST_F(KernelsTest, a_body_computes_in_the_order_of_the_stream) {
  cudaStream_t on = new_stream();
  std::byte* memory = new_memory(64 * sizeof(float));
  std::vector<float> values(64);
  std::iota(values.begin(), values.end(), 0.0f);
  float by = 2;
  void* arguments[] = {&memory, &by};
  {
    const gate closed(on);
    EXPECT_CUDA(cudaMemcpyAsync(memory, values.data(), 64 * sizeof(float), cudaMemcpyDefault, on));
    EXPECT_CUDA(cudaLaunchKernel(address_of(&scale), {2, 1, 1}, {32, 1, 1}, arguments, 0, on));
    by = 3;  // what a launch was given is what it was when it was made
  }
  EXPECT_CUDA(cudaMemcpyAsync(values.data(), memory, 64 * sizeof(float), cudaMemcpyDefault, on));
  EXPECT_CUDA(cudaStreamSynchronize(on));
  EXPECT_EQ(values[1], 2.0f);
  EXPECT_EQ(values[63], 126.0f);
  const std::string line = record()[1];
  const std::string addresses = line.substr(line.rfind('\t') + 1);
  EXPECT_EQ(addresses.substr(0, 6), "0.0=0:");
  EXPECT_EQ(addresses.substr(addresses.size() - 2), "+0");
  EXPECT_CUDA(cudaStreamDestroy(on));
  EXPECT_CUDA(cudaFree(memory));
}

TEST_F(KernelsTest, a_replay_is_recorded_and_computes_again) {
  cudaStream_t on = new_stream();
  std::byte* memory = new_memory(sizeof(float));
  const float one = 1;
  EXPECT_CUDA(cudaMemcpy(memory, &one, sizeof(one), cudaMemcpyDefault));
  float by = 2;
  void* arguments[] = {&memory, &by};
  fake_cudart_record_clear();
  EXPECT_CUDA(cudaStreamBeginCapture(on, cudaStreamCaptureModeRelaxed));
  EXPECT_CUDA(cudaLaunchKernel(address_of(&scale), {1, 1, 1}, {1, 1, 1}, arguments, 0, on));
  EXPECT_CUDA(launch(&plain, on));
  cudaGraph_t graph = nullptr;
  EXPECT_CUDA(cudaStreamEndCapture(on, &graph));
  cudaGraphExec_t exec = nullptr;
  EXPECT_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) EXPECT_CUDA(cudaGraphLaunch(exec, on));
  EXPECT_CUDA(cudaStreamSynchronize(on));
  float result = 0;
  EXPECT_EQ(fake_cudart_peek(&result, memory, sizeof(result)), 0);
  EXPECT_EQ(result, 8);
  const auto lines = record();
  ASSERT_EQ(lines.size(), 8u);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].find(i < 2 ? "kernel\tcaptured\t" : "kernel\treplayed\t"), 0u) << lines[i];
    EXPECT_NE(lines[i].find(i % 2 == 0 ? "scale" : "plain"), std::string::npos) << lines[i];
  }
  EXPECT_CUDA(cudaGraphExecDestroy(exec));
  EXPECT_CUDA(cudaGraphDestroy(graph));
  EXPECT_CUDA(cudaStreamDestroy(on));
  EXPECT_CUDA(cudaFree(memory));
}

TEST_F(KernelsTest, the_record_has_the_kinds_that_were_asked_for) {
  std::byte* const memory = new_memory(1024);
  std::vector<std::byte> host(1024);
  const auto work = [&] {
    fake_cudart_record_clear();
    EXPECT_CUDA(launch(&plain));
    EXPECT_CUDA(cudaMemcpy(memory, host.data(), 1000, cudaMemcpyDefault));
    EXPECT_CUDA(cudaMemset(memory, 7, 100));
    const void* const arguments[] = {nullptr, memory + 8};
    EXPECT_EQ(fake_cudart_call("product", nullptr, arguments, 2), cudaSuccess);
    return record();
  };
  const auto all = work();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1].find("copy\tnow\t0\t0\t\t\t1000\tpageable to device\tto=0:"), 0u) << all[1];
  EXPECT_EQ(all[2].find("fill\tnow\t0\t0\t\t\t100\t0x7\tto=0:"), 0u) << all[2];
  EXPECT_EQ(all[3].find("call\tnow\t0\t0\t\t\t0\tproduct\t1.0=0:"), 0u) << all[3];
  EXPECT_EQ(all[3].substr(all[3].size() - 2), "+8");
  EXPECT_EQ(fake_cudart_record("copy,fill"), 0);
  const auto some = work();
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some[0], "copy\tnow\t0\t0\t\t\t1000\tpageable to device\t");
  EXPECT_EQ(fake_cudart_record("copies"), -1);
  fake_cudart_record_stop();
  EXPECT_TRUE(work().empty());
  EXPECT_CUDA(cudaFree(memory));
}

TEST_F(KernelsTest, what_nvccs_output_calls_launches_the_pushed_one) {
  cudaStream_t on = new_stream();
  EXPECT_EQ(__cudaPushCallConfiguration({1, 1, 1}, {7, 1, 1}, 0, nullptr), 0u);
  EXPECT_EQ(__cudaPushCallConfiguration({5, 1, 1}, {64, 1, 1}, 8, on), 0u);
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t popped = nullptr;
  EXPECT_CUDA(__cudaPopCallConfiguration(&grid, &block, &shared, &popped));
  EXPECT_EQ(grid.x, 5u);
  EXPECT_EQ(popped, on);
  cudaKernel_t handle = nullptr;
  EXPECT_CUDA(__cudaGetKernel(&handle, address_of(&plain)));
  EXPECT_CUDA(__cudaLaunchKernel(handle, grid, block, nullptr, shared, popped));
  EXPECT_NE(record().at(0).find("\t5x1x1\t64x1x1\t8\t"), std::string::npos);
  EXPECT_CUDA(__cudaPopCallConfiguration(&grid, &block, &shared, &popped));
  EXPECT_EQ(block.x, 7u);
  EXPECT_EQ(__cudaPopCallConfiguration(&grid, &block, &shared, &popped),
            cudaErrorMissingConfiguration);
  EXPECT_CUDA(cudaStreamDestroy(on));
}

TEST_F(KernelsTest, a_kernel_says_what_fits) {
  cudaFuncAttributes attributes = {};
  EXPECT_CUDA(cudaFuncGetAttributes(&attributes, address_of(&plain)));
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  EXPECT_GT(attributes.ptxVersion, 0);
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, address_of(&unknown)),
            cudaErrorInvalidDeviceFunction);
  int blocks = 0;
  const auto fit = [&](int threads, size_t shared) {
    EXPECT_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, address_of(&plain), threads,
                                                              shared));
    return blocks;
  };
  EXPECT_EQ(fit(1024, 0), 2);
  EXPECT_EQ(fit(32, 0), 32);
  EXPECT_LT(fit(32, 40000), 32);
}

TEST_F(KernelsTest, a_variable_has_memory_on_each_device) {
  void* here = nullptr;
  EXPECT_CUDA(cudaGetSymbolAddress(&here, variable));
  EXPECT_CUDA(cudaMemcpyToSymbol(variable, "text", 5, 2, cudaMemcpyHostToDevice));
  char text[5] = {};
  EXPECT_CUDA(cudaMemcpyFromSymbol(text, variable, 5, 2, cudaMemcpyDeviceToHost));
  EXPECT_STREQ(text, "text");
  size_t size = 0;
  EXPECT_CUDA(cudaGetSymbolSize(&size, variable));
  EXPECT_EQ(size, sizeof(variable));
  EXPECT_CUDA(cudaSetDevice(1));
  void* there = nullptr;
  EXPECT_CUDA(cudaGetSymbolAddress(&there, variable));
  EXPECT_NE(here, there);
  EXPECT_CUDA(cudaSetDevice(0));
  EXPECT_EQ(cudaGetSymbolAddress(&there, text), cudaErrorInvalidSymbol);
}

TEST_F(KernelsTest, a_kernel_that_fails_loses_the_device) {
  EXPECT_EQ(fake_cudart_fail("@kernel", 2, cudaErrorIllegalAddress), 0);
  EXPECT_CUDA(launch(&plain));
  EXPECT_CUDA(launch(&plain));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(launch(&plain), cudaErrorIllegalAddress);
}

// Adds to a number, and tells when it is released.
struct adding {
  int* sum;
  bool* released;
};

TEST_F(KernelsTest, ACallWithABodyRunsInTheOrderOfItsStreamAndInEachLaunchOfAGraph) {
  int sum = 0;
  bool released = false;
  const auto body = [](void* data) { ++*static_cast<adding*>(data)->sum; };
  const auto release = [](void* data) {
    *static_cast<adding*>(data)->released = true;
    delete static_cast<adding*>(data);
  };
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const auto add = [&] {
    return fake_cudart_call_with_body("add", stream, nullptr, 0, body, new adding{&sum, &released},
                                      release);
  };
  ASSERT_EQ(add(), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(sum, 1);
  EXPECT_TRUE(released);
  released = false;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(add(), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(sum, 1);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(sum, 3);
  EXPECT_FALSE(released);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_TRUE(released);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
}  // namespace fake_cuda
