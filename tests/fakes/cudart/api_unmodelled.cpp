// Entry points that are there for programs to link, and answer cudaErrorNotSupported: README.md
// says what is not modelled. Their parameters differ between CUDA 12 and 13, and nobody reads them.
#include "tests/fakes/cudart/enter.hpp"

using namespace fake_cuda;

#define FAKE_CUDA_UNMODELLED(name)                                                            \
  cudaError_t unmodelled_##name() __asm__(#name) __attribute__((visibility("default")));      \
  cudaError_t unmodelled_##name() {                                                           \
    return enter(#name, [](call&) { throw refusal(cudaErrorNotSupported, "not modelled"); }); \
  }

#define FAKE_CUDA_NOTHING(name)                                                       \
  cudaError_t nothing_##name() __asm__(#name) __attribute__((visibility("default"))); \
  cudaError_t nothing_##name() {                                                      \
    return enter(#name, [](call&) {});                                                \
  }

extern "C" {

// No profiler is there to be started. Their header is in a package of its own.
FAKE_CUDA_NOTHING(cudaProfilerStart)
FAKE_CUDA_NOTHING(cudaProfilerStop)
// Memory pools.
FAKE_CUDA_UNMODELLED(cudaDeviceGetDefaultMemPool)
FAKE_CUDA_UNMODELLED(cudaDeviceGetMemPool)
FAKE_CUDA_UNMODELLED(cudaFreeAsync)
FAKE_CUDA_UNMODELLED(cudaMallocAsync)
FAKE_CUDA_UNMODELLED(cudaMemPoolGetAttribute)
FAKE_CUDA_UNMODELLED(cudaMemPoolSetAccess)
FAKE_CUDA_UNMODELLED(cudaMemPoolSetAttribute)
FAKE_CUDA_UNMODELLED(cudaMemPoolTrimTo)
// Graphs beyond captures.
FAKE_CUDA_UNMODELLED(cudaGraphAddNode)
FAKE_CUDA_UNMODELLED(cudaGraphConditionalHandleCreate)
FAKE_CUDA_UNMODELLED(cudaGraphDebugDotPrint)
FAKE_CUDA_UNMODELLED(cudaGraphNodeGetDependencies)
FAKE_CUDA_UNMODELLED(cudaStreamBeginCaptureToGraph)
FAKE_CUDA_UNMODELLED(cudaStreamUpdateCaptureDependencies)
FAKE_CUDA_UNMODELLED(cudaDeviceGetGraphMemAttribute)
FAKE_CUDA_UNMODELLED(cudaDeviceSetGraphMemAttribute)
// Memory that both sides reach.
FAKE_CUDA_UNMODELLED(cudaMallocManaged)
// Kernels that come while a program runs.
FAKE_CUDA_UNMODELLED(cudaKernelSetAttributeForDevice)
FAKE_CUDA_UNMODELLED(cudaLibraryGetGlobal)
FAKE_CUDA_UNMODELLED(cudaLibraryGetKernel)
FAKE_CUDA_UNMODELLED(cudaLibraryGetKernelCount)
FAKE_CUDA_UNMODELLED(cudaLibraryGetManaged)
FAKE_CUDA_UNMODELLED(cudaLibraryGetUnifiedFunction)
FAKE_CUDA_UNMODELLED(cudaLibraryLoadData)
FAKE_CUDA_UNMODELLED(cudaLibraryLoadFromFile)
FAKE_CUDA_UNMODELLED(cudaLibraryUnload)

}  // extern "C"
