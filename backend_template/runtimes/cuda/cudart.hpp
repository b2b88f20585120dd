// The functions of libcudart that this runtime calls, as a table that is filled at run time.
//
// One binary serves the libraries of CUDA 12 and 13, whichever of the two its headers were of. So
// only functions are used whose name has the same signature in both, and no struct that one of them
// may have appended to is handed over as it is (see pointer_attributes). For that reason there is
// no cudaGetDeviceProperties, no cudaStreamGetCaptureInfo and no cudaGraphInstantiate here.
#pragma once

#include <cuda_runtime_api.h>

#include "backend_template/runtimes/cuda/entry.hpp"

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

// cudaGetDriverEntryPoint is deprecated since 13.0, its successor is there since 12.5: one of the
// two is needed. cudaStreamGetDevice is there since 12.8.
// clang-format off: a line each.
#define OUTBACK_CUDART_OPTIONAL(X)    \
  X(cudaGetDriverEntryPointByVersion) \
  X(cudaGetDriverEntryPoint)          \
  X(cudaStreamGetDevice)
// clang-format on

namespace outback::cuda {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct cudart {
#define OUTBACK_ENTRY(name) entry<decltype(::name)> name{#name};
  OUTBACK_CUDART_REQUIRED(OUTBACK_ENTRY)
  OUTBACK_CUDART_OPTIONAL(OUTBACK_ENTRY)
#undef OUTBACK_ENTRY
};
#pragma GCC diagnostic pop

/// CUDA 13 writes 64 bytes more than CUDA 12 knows of; what both have comes first.
union pointer_attributes {
  cudaPointerAttributes known;
  char room[256];
};

}  // namespace outback::cuda
