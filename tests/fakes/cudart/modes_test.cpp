// What the environment makes of the machine, and what ends a process. Each test is a process.
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/fakes/cudart/child.hpp"
#include "tests/fakes/cudart/fake_test.hpp"
#include "tests/fakes/nvml/nvml_api.h"

namespace fake_cuda {
namespace {

TEST(Modes, AMachineWithoutDevices) {
  for (const auto& [name, value] :
       {std::pair{"FAKE_CUDA_DEVICES", "0"}, {"CUDA_VISIBLE_DEVICES", ""}}) {
    expect_well(in_child({{name, value}}, [] {
      int count = 7;
      EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
      EXPECT_EQ(count, 0);
      void* none = nullptr;
      EXPECT_EQ(cudaMalloc(&none, 16), cudaErrorNoDevice);
    }));
  }
}

TEST(Modes, AMachineWithoutADriver) {
  expect_well(in_child({{"FAKE_CUDA_INIT_ERROR", "35"}}, [] {
    int count = 7, version = 7;
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    EXPECT_EQ(cudaSetDevice(0), cudaErrorInsufficientDriver);
    EXPECT_CUDA(cudaDriverGetVersion(&version));
    EXPECT_EQ(version, 0);
    EXPECT_CUDA(cudaRuntimeGetVersion(&version));
    EXPECT_EQ(version, CUDART_VERSION);
  }));
}

TEST(Modes, DevicesAreWhatIsAskedFor) {
  expect_well(in_child({{"FAKE_CUDA_DEVICES", "3"},
                        {"CUDA_VISIBLE_DEVICES", "2,0"},
                        {"FAKE_CUDA_MEMORY", "1M"},
                        {"FAKE_CUDA_NAMES", "One,Two"},
                        {"FAKE_CUDA_CAPABILITY", "8.6"}},
                       [] {
                         int value = 0;
                         EXPECT_CUDA(cudaGetDeviceCount(&value));
                         EXPECT_EQ(value, 2);
                         cudaDeviceProp properties;
                         EXPECT_CUDA(cudaGetDeviceProperties(&properties, 0));
                         EXPECT_STREQ(properties.name, "Two");
                         EXPECT_EQ(properties.pciBusID, 3);
                         EXPECT_EQ(properties.major, 8);
                         EXPECT_EQ(properties.minor, 6);
                         void* data = nullptr;
                         EXPECT_EQ(cudaMalloc(&data, (1 << 20) + 1), cudaErrorMemoryAllocation);
                         EXPECT_CUDA(cudaMalloc(&data, 1 << 20));
                         EXPECT_CUDA(cudaFree(data));
                       }));
}

TEST(Modes, AMalformedVariableEndsTheProcess) {
  const auto ended = in_child({{"FAKE_CUDA_MEMORY", "lots"}}, [] { cudaFree(nullptr); });
  EXPECT_TRUE(ended.exited(2));
  EXPECT_NE(ended.said.find("FAKE_CUDA_MEMORY=lots: expected a size"), std::string::npos);
}

// A sanitizer turns the signal into an exit of its own.
TEST(Modes, TheHostCannotTouchDeviceMemory) {
  const auto ended = in_child({}, [] {
    void* data = nullptr;
    EXPECT_CUDA(cudaMalloc(&data, 16));
    std::printf("%d", *static_cast<volatile char*>(data));
    std::_Exit(0);
  });
  EXPECT_FALSE(ended.exited(0));
  EXPECT_TRUE(ended.died_of(SIGSEGV) || ended.said.find("SEGV") != std::string::npos) << ended.said;
}

TEST(Modes, AForkedChildCannotUseWhatItsParentStarted) {
  expect_well(in_child({}, [] {
    int count = 0;
    EXPECT_CUDA(cudaGetDeviceCount(&count));
    const pid_t child = fork();
    if (child == 0) {
      void* none = nullptr;
      const bool right = cudaGetDeviceCount(&count) == cudaErrorInitializationError &&
                         cudaMalloc(&none, 16) == cudaErrorInitializationError &&
                         cudaFree(nullptr) == cudaErrorInitializationError;
      std::_Exit(right ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_CUDA(cudaFree(nullptr));
  }));
}

TEST(Modes, AForkBeforeTheStartIsFine) {
  expect_well(in_child({}, [] {
    int version = 0;
    EXPECT_CUDA(cudaRuntimeGetVersion(&version));  // starts nothing
    const pid_t child = fork();
    if (child == 0) std::_Exit(cudaFree(nullptr) == cudaSuccess ? 0 : 1);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }));
}

TEST(Modes, StrictEndsAtTheFirstMisuse) {
  const auto misuse = [] { cudaFree(reinterpret_cast<void*>(16)); };
  const auto refused = [] { cudaSetDevice(9); };
  const auto ended = in_child({{"FAKE_CUDART_STRICT", "1"}}, misuse);
  EXPECT_TRUE(ended.died_of(SIGABRT)) << ended.said;
  EXPECT_NE(ended.said.find("misuse: cudaFree: 0x10 is nothing that this could free"),
            std::string::npos);
  EXPECT_TRUE(in_child({{"FAKE_CUDART_STRICT", "2"}}, refused).died_of(SIGABRT));
  expect_well(in_child({{"FAKE_CUDART_STRICT", "1"}}, refused));
  expect_well(in_child({}, misuse));
}

TEST(Modes, LeaksEndTheProcessBadlyWhereItIsAsked) {
  const auto leak = [] {
    void *data = nullptr, *pinned = nullptr;
    cudaStream_t s = nullptr;
    EXPECT_CUDA(cudaMalloc(&data, 16));
    EXPECT_CUDA(cudaMallocHost(&pinned, 16));
    EXPECT_CUDA(cudaStreamCreate(&s));
  };
  const auto ended = in_child({{"FAKE_CUDART_LEAKS", "1"}}, leak);
  EXPECT_TRUE(ended.exited(99)) << ended.status;
  EXPECT_NE(ended.said.find("leak: memory: 16 bytes at"), std::string::npos) << ended.said;
  EXPECT_NE(ended.said.find("made by cudaMallocHost"), std::string::npos);
  EXPECT_NE(ended.said.find("leak: streams: handle"), std::string::npos);
  EXPECT_NE(ended.said.find("3 leaks and 0 misuses"), std::string::npos);
  expect_well(in_child({}, leak));
  expect_well(in_child({{"FAKE_CUDART_LEAKS", "events,graphs"}}, leak));
  EXPECT_TRUE(in_child({{"FAKE_CUDART_LEAKS", "pinned"}}, leak).exited(99));
  expect_well(in_child({{"FAKE_CUDART_LEAKS", "1"}}, [&] {
    leak();
    EXPECT_EQ(fake_cudart_leaks(nullptr), 3);
    EXPECT_EQ(fake_cudart_leaks("streams"), 1);
    fake_cudart_keep(nullptr);
    EXPECT_EQ(fake_cudart_leaks(nullptr), 0);
    EXPECT_EQ(fake_cudart_live(nullptr), 3);
  }));
  EXPECT_TRUE(in_child({{"FAKE_CUDART_LEAKS", "1"}}, [] {
                cudaFree(reinterpret_cast<void*>(16));
              }).exited(99));
}

// Two streams that nothing orders: whichever comes first, of many rounds both do.
TEST(Modes, AdversarialWorkRunsInAnyOrder) {
  expect_well(in_child({{"FAKE_CUDA_ADVERSARIAL", "7"}}, [] {
    cudaStream_t first = nullptr, second = nullptr;
    void* data = nullptr;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaMalloc(&data, 1));
    unsigned char seen = 0;
    EXPECT_EQ(fake_cudart_peek(&seen, data, 1), 0);
    EXPECT_NE(seen, 0);  // what nobody has written is not 0
    std::atomic<int> last = 0;
    int ones = 0, rounds = 0;
    for (; rounds < 500 && (ones == 0 || ones == rounds); ++rounds) {
      // Not fills, whose race the thread sanitizer would report, and rightly.
      EXPECT_CUDA(cudaLaunchHostFunc(
          first, [](void* at) { static_cast<std::atomic<int>*>(at)->store(1); }, &last));
      EXPECT_CUDA(cudaLaunchHostFunc(
          second, [](void* at) { static_cast<std::atomic<int>*>(at)->store(2); }, &last));
      EXPECT_CUDA(cudaDeviceSynchronize());
      ones += last == 1;
    }
    EXPECT_GT(ones, 0);
    EXPECT_LT(ones, rounds);
    cudaEvent_t e = nullptr;
    EXPECT_CUDA(cudaEventCreate(&e));
    for (int i = 0; i < 100; ++i) {
      EXPECT_CUDA(cudaMemsetAsync(data, 1, 1, first));
      EXPECT_CUDA(cudaEventRecord(e, first));
      EXPECT_CUDA(cudaStreamWaitEvent(second, e, 0));
      EXPECT_CUDA(cudaMemsetAsync(data, 2, 1, second));
      EXPECT_CUDA(cudaStreamSynchronize(second));
      EXPECT_EQ(fake_cudart_peek(&seen, data, 1), 0);
      EXPECT_EQ(seen, 2);
    }
    EXPECT_CUDA(cudaEventDestroy(e));
    EXPECT_CUDA(cudaFree(data));
    EXPECT_CUDA(cudaStreamDestroy(first));
    EXPECT_CUDA(cudaStreamDestroy(second));
  }));
}

TEST(Modes, NvmlSeesTheMemoryOfThisProcess) {
  expect_well(in_child({}, [] {
    void* data = nullptr;
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_CUDA(cudaMalloc(&data, 1 << 20));
    ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
    for (const unsigned index : {0u, 1u}) {
      nvmlDevice_t device = nullptr;
      nvmlMemory_t memory = {};
      ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(index, &device), NVML_SUCCESS);
      ASSERT_EQ(nvmlDeviceGetMemoryInfo(device, &memory), NVML_SUCCESS);
      EXPECT_EQ(memory.used, index << 20);
    }
    EXPECT_CUDA(cudaFree(data));
  }));
}

TEST(Modes, HostFunctionsOneAtATime) {
  expect_well(in_child({{"FAKE_CUDA_SERIAL_HOST_FUNCTIONS", "1"}}, [] {
    cudaStream_t first = nullptr, second = nullptr;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    EXPECT_CUDA(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    void* data = nullptr;
    EXPECT_CUDA(cudaMalloc(&data, 1));
    {
      gate closed(first);
      EXPECT_CUDA(cudaMemsetAsync(data, 1, 1, second));
      EXPECT_CUDA(cudaStreamSynchronize(second));  // other work goes on
      EXPECT_CUDA(cudaLaunchHostFunc(second, [](void*) {}, nullptr));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(cudaStreamQuery(second), cudaErrorNotReady);
      closed.open();
      EXPECT_CUDA(cudaDeviceSynchronize());
    }
    EXPECT_CUDA(cudaFree(data));
    EXPECT_CUDA(cudaStreamDestroy(first));
    EXPECT_CUDA(cudaStreamDestroy(second));
  }));
}

}  // namespace
}  // namespace fake_cuda
