// The functions of libcudart that this runtime calls, as a table that library.hpp fills at run
// time.
//
// One binary works with the libraries of CUDA 12 and 13, whichever of the two its headers came
// from. So the table has only functions that have the same signature in both, and passes no struct
// that CUDA may have extended (see pointer_attributes). This rules out cudaGetDeviceProperties,
// cudaStreamGetCaptureInfo and cudaGraphInstantiate.
#pragma once

#include <cuda_runtime_api.h>

#include "backend_template/runtimes/library_function.hpp"

#if CUDART_VERSION < 12080
#error "The CUDA runtime needs the headers of CUDA 12.8 or newer (OUTBACK_CUDA_INCLUDE_DIR)"
#endif

// clang-format off: a line each.
#define OUTBACK_CUDART_REQUIRED(X)       \
  /* what is there */                    \
  X(cudaRuntimeGetVersion)               \
  X(cudaGetDeviceCount)                  \
  X(cudaSetDevice)                       \
  X(cudaDeviceGetAttribute)              \
  X(cudaDeviceGetPCIBusId)               \
  X(cudaDeviceGetStreamPriorityRange)    \
  X(cudaMemGetInfo)                      \
  X(cudaDriverGetVersion)                \
  /* errors */                           \
  X(cudaGetLastError)                    \
  X(cudaGetErrorName)                    \
  X(cudaGetErrorString)                  \
  /* memory */                           \
  X(cudaMalloc)                          \
  X(cudaFree)                            \
  X(cudaHostAlloc)                       \
  X(cudaFreeHost)                        \
  X(cudaHostRegister)                    \
  X(cudaHostUnregister)                  \
  X(cudaPointerGetAttributes)            \
  X(cudaMemcpyAsync)                     \
  X(cudaMemcpyPeerAsync)                 \
  X(cudaMemsetAsync)                     \
  /* streams and events */               \
  X(cudaDeviceSynchronize)               \
  X(cudaStreamCreateWithPriority)        \
  X(cudaStreamDestroy)                   \
  X(cudaStreamQuery)                     \
  X(cudaStreamSynchronize)               \
  X(cudaStreamWaitEvent)                 \
  X(cudaLaunchHostFunc)                  \
  X(cudaEventCreateWithFlags)            \
  X(cudaEventDestroy)                    \
  X(cudaEventRecord)                     \
  X(cudaEventQuery)                      \
  X(cudaEventSynchronize)                \
  X(cudaEventElapsedTime)                \
  /* peers and processes */              \
  X(cudaDeviceCanAccessPeer)             \
  X(cudaDeviceEnablePeerAccess)          \
  X(cudaDeviceDisablePeerAccess)         \
  X(cudaIpcGetMemHandle)                 \
  X(cudaIpcOpenMemHandle)                \
  X(cudaIpcCloseMemHandle)               \
  X(cudaIpcGetEventHandle)               \
  X(cudaIpcOpenEventHandle)              \
  /* graphs */                           \
  X(cudaThreadExchangeStreamCaptureMode) \
  X(cudaStreamBeginCapture)              \
  X(cudaStreamEndCapture)                \
  X(cudaStreamIsCapturing)               \
  X(cudaGraphInstantiateWithFlags)       \
  X(cudaGraphLaunch)                     \
  X(cudaGraphExecDestroy)                \
  X(cudaGraphDestroy)
// clang-format on

// A libcudart may lack these functions. The runtime needs one of the first two:
// cudaGetDriverEntryPoint is deprecated since CUDA 13.0, and its successor exists since 12.5.
// cudaStreamGetDevice exists since 12.8. clang-format off: a line each.
#define OUTBACK_CUDART_OPTIONAL(X)    \
  X(cudaGetDriverEntryPointByVersion) \
  X(cudaGetDriverEntryPoint)          \
  X(cudaStreamGetDevice)
// clang-format on

namespace outback::cuda {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct cudart {
#define OUTBACK_ENTRY(name) library_function<decltype(::name)> name{#name};
  OUTBACK_CUDART_REQUIRED(OUTBACK_ENTRY)
  OUTBACK_CUDART_OPTIONAL(OUTBACK_ENTRY)
#undef OUTBACK_ENTRY
};
#pragma GCC diagnostic pop

/// Room for the struct that cudaPointerGetAttributes writes. CUDA 13's struct is 64 bytes longer
/// than CUDA 12's, but both begin with the same members: pass `&known` and read only these members.
union pointer_attributes {
  cudaPointerAttributes known;
  char room[256];
};

}  // namespace outback::cuda
