// Contexts and the current device: what makes one, and what does not. Each test is a process.
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/fakes/cudart/child.hpp"
#include "tests/fakes/cudart/fake_test.hpp"

namespace fake_cuda {
namespace {

int active() {
  return fake_cudart_context_active(0) + 2 * fake_cudart_context_active(1);
}

template <class Function>
Function* driver(const char* name, unsigned version = 12000) {
  void* found = nullptr;
  EXPECT_CUDA(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, nullptr));
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<Function*>(found);
}

int current_device() {
  int index = -1;
  EXPECT_CUDA(cudaGetDevice(&index));
  return index;
}

struct context_functions {
  CUresult (*init)(unsigned) = driver<CUresult(unsigned)>("cuInit");
  CUresult (*retain)(CUcontext*,
                     CUdevice) = driver<CUresult(CUcontext*, CUdevice)>("cuDevicePrimaryCtxRetain");
  CUresult (*release)(CUdevice) = driver<CUresult(CUdevice)>("cuDevicePrimaryCtxRelease");
  CUresult (*state)(CUdevice, unsigned*, int*) =
      driver<CUresult(CUdevice, unsigned*, int*)>("cuDevicePrimaryCtxGetState");
  CUresult (*push)(CUcontext) = driver<CUresult(CUcontext)>("cuCtxPushCurrent");
  CUresult (*pop)(CUcontext*) = driver<CUresult(CUcontext*)>("cuCtxPopCurrent");
  CUresult (*set)(CUcontext) = driver<CUresult(CUcontext)>("cuCtxSetCurrent");
  CUresult (*get)(CUcontext*) = driver<CUresult(CUcontext*)>("cuCtxGetCurrent");
};

TEST(Contexts, QuestionsAboutDevicesMakeNone) {
  expect_well(in_child({}, [] {
    int value = 0;
    char pci[16];
    cudaDeviceProp properties;
    EXPECT_CUDA(cudaGetDeviceCount(&value));
    EXPECT_EQ(value, 2);
    EXPECT_CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1));
    EXPECT_CUDA(cudaDeviceGetPCIBusId(pci, sizeof(pci), 1));
    EXPECT_STREQ(pci, "0000:02:00.0");
    EXPECT_CUDA(cudaDeviceGetByPCIBusId(&value, pci));
    EXPECT_EQ(value, 1);
    EXPECT_CUDA(cudaGetDeviceProperties(&properties, 1));
    EXPECT_EQ(properties.totalGlobalMem, 256u << 20);
    EXPECT_CUDA(cudaDeviceCanAccessPeer(&value, 0, 1));
    EXPECT_EQ(value, 1);
    EXPECT_EQ(current_device(), 0);
    EXPECT_EQ(active(), 0);
  }));
}

TEST(Contexts, TheFirstCallThatNeedsOneMakesIt) {
  expect_well(in_child({}, [] {
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_EQ(active(), 2);
    EXPECT_CUDA(cudaFree(nullptr));
    EXPECT_EQ(active(), 2);
    std::thread([] { EXPECT_CUDA(cudaFree(nullptr)); }).join();  // whose device is 0
    EXPECT_EQ(active(), 3);
  }));
}

TEST(Contexts, AStreamOfAnotherDeviceIsNoExcuse) {
  expect_well(in_child({}, [] {
    EXPECT_CUDA(cudaSetDevice(1));
    cudaStream_t s = nullptr;
    EXPECT_CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    // The thread's device is 0: that is where the runtime goes first, whatever the stream.
    std::thread([&] { EXPECT_CUDA(cudaStreamQuery(s)); }).join();
    EXPECT_EQ(active(), 3);
    EXPECT_CUDA(cudaStreamDestroy(s));
  }));
}

TEST(Contexts, APushedOneServesAndGoesAgain) {
  expect_well(in_child({}, [] {
    const context_functions cu;
    CUcontext context = nullptr, found = nullptr;
    EXPECT_EQ(cu.retain(&context, 1), CUDA_ERROR_NOT_INITIALIZED);
    EXPECT_EQ(cu.init(0), CUDA_SUCCESS);
    EXPECT_EQ(cu.retain(&context, 1), CUDA_SUCCESS);
    EXPECT_EQ(active(), 2);
    EXPECT_EQ(cu.push(context), CUDA_SUCCESS);
    EXPECT_EQ(current_device(), 1);
    void* data = nullptr;
    EXPECT_CUDA(cudaMalloc(&data, 16));
    EXPECT_CUDA(cudaFree(data));
    EXPECT_EQ(cu.pop(&found), CUDA_SUCCESS);
    EXPECT_EQ(found, context);
    EXPECT_EQ(cu.get(&found), CUDA_SUCCESS);
    EXPECT_EQ(found, nullptr);
    EXPECT_EQ(current_device(), 0);
    EXPECT_EQ(active(), 2);
    EXPECT_EQ(cu.pop(&found), CUDA_ERROR_INVALID_CONTEXT);
    unsigned flags = 7;
    int is = 7;
    EXPECT_EQ(cu.state(0, &flags, &is), CUDA_SUCCESS);
    EXPECT_EQ(is, 0);
    EXPECT_EQ(cu.state(1, &flags, &is), CUDA_SUCCESS);
    EXPECT_EQ(is, 1);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // the driver leaves it alone
  }));
}

TEST(Contexts, AThreadWithoutOneKeepsItsDevice) {
  expect_well(in_child({}, [] {
    EXPECT_CUDA(cudaSetDevice(1));
    const context_functions cu;
    EXPECT_EQ(cu.set(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(current_device(), 1);
    EXPECT_EQ(active(), 2);
  }));
}

TEST(Contexts, ReleasedWithObjectsInItIsAMisuse) {
  const auto ended = in_child({}, [] {
    const context_functions cu;
    EXPECT_EQ(cu.init(0), CUDA_SUCCESS);
    CUcontext context = nullptr;
    EXPECT_EQ(cu.retain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(cu.release(0), CUDA_SUCCESS);
    EXPECT_EQ(fake_cudart_violations(), 0);
    EXPECT_EQ(cu.push(context), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    EXPECT_EQ(fake_cudart_violations(), 1);
    EXPECT_EQ(cu.release(0), CUDA_ERROR_INVALID_CONTEXT);
    cudaEvent_t e = nullptr;
    EXPECT_CUDA(cudaEventCreate(&e));
    EXPECT_EQ(cu.release(0), CUDA_SUCCESS);  // which was the runtime's
    EXPECT_EQ(fake_cudart_violations(), 2);
    EXPECT_EQ(cudaEventCreate(&e), cudaErrorContextIsDestroyed);
    EXPECT_EQ(fake_cudart_violations(), 3);
  });
  expect_well(ended);
  EXPECT_NE(ended.said.find("goes with 1 objects in it"), std::string::npos) << ended.said;
}

TEST(Contexts, AResetTakesEverything) {
  expect_well(in_child({}, [] {
    void* data = nullptr;
    cudaStream_t s = nullptr;
    EXPECT_CUDA(cudaMalloc(&data, 16));
    EXPECT_CUDA(cudaStreamCreate(&s));
    EXPECT_CUDA(cudaDeviceReset());
    EXPECT_EQ(active(), 0);
    EXPECT_EQ(fake_cudart_live(nullptr), 0);
    EXPECT_EQ(fake_cudart_violations(), 0);
    EXPECT_CUDA(cudaMalloc(&data, 16));
    EXPECT_EQ(active(), 1);
    EXPECT_CUDA(cudaFree(data));
  }));
}

TEST(Contexts, TheDriverAnswersByVersion) {
  expect_well(in_child({}, [] {
    void *old = nullptr, *recent = nullptr, *none = &none;
    cudaDriverEntryPointQueryResult status = {};
    EXPECT_CUDA(cudaGetDriverEntryPointByVersion("cuStreamGetCtx", &old, 12000, 0, &status));
    EXPECT_CUDA(cudaGetDriverEntryPointByVersion("cuStreamGetCtx", &recent, 12050, 0, &status));
    EXPECT_NE(old, recent);  // whose signature is another
    EXPECT_CUDA(cudaGetDriverEntryPoint("cuStreamGetCtx", &old, 0, &status));
    EXPECT_EQ(old, recent);
    EXPECT_CUDA(cudaGetDriverEntryPointByVersion("cuStreamGetCtx", &none, 9000, 0, &status));
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(status, cudaDriverEntryPointVersionNotSufficent);
    EXPECT_CUDA(cudaGetDriverEntryPointByVersion("cuMemsetD8Async_v2", &none, 12000, 0, &status));
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(status, cudaDriverEntryPointSymbolNotFound);
    EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuInit", &none, 99000, 0, &status),
              cudaErrorInvalidValue);
  }));
}

// Memory is given back in atexit functions, which come after the main thread's own variables.
TEST(Contexts, AThreadsStateIsThereInItsLastCalls) {
  expect_well(in_child({}, [] {
    std::atexit([] {
      // Whatever the ended thread freed belongs to somebody else now.
      std::vector<void*> others;
      for (std::size_t size = 4; size < 4096; size += 4) {
        others.push_back(std::memset(std::malloc(size), 0x5a, size));
      }
      cudaStream_t stream = nullptr;
      void* more = nullptr;
      if (current_device() != 1) _exit(2);
      if (cudaMalloc(&more, 4096) != cudaSuccess) _exit(3);
      if (cudaSetDevice(0) != cudaSuccess || current_device() != 0) _exit(4);
      if (cudaStreamCreate(&stream) != cudaSuccess || active() != 3) _exit(5);
      for (void* each : others) std::free(each);
    });
    void* memory = nullptr;
    EXPECT_CUDA(cudaSetDevice(1));
    EXPECT_CUDA(cudaMalloc(&memory, 4096));
  }));
}

TEST(Contexts, PeersAreEnabledOnce) {
  expect_well(in_child({}, [] {
    EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    EXPECT_CUDA(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    EXPECT_CUDA(cudaDeviceDisablePeerAccess(1));
    EXPECT_EQ(cudaDeviceEnablePeerAccess(7, 0), cudaErrorInvalidDevice);
  }));
  expect_well(in_child({{"FAKE_CUDA_PEERS", "0"}}, [] {
    int can = 7;
    EXPECT_CUDA(cudaDeviceCanAccessPeer(&can, 0, 1));
    EXPECT_EQ(can, 0);
    EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessUnsupported);
  }));
}

}  // namespace
}  // namespace fake_cuda
