// The functions of the driver that libcudart has no equivalent of, found through libcudart.
//
// They are what keeps the promise about the current device: a context can be pushed and popped
// again, while cudaSetDevice cannot put back "none" without making a context.
#pragma once

#include <cuda.h>

#include "backend_template/runtimes/cuda/cudart.hpp"

// clang-format off: a line each.
#define OUTBACK_CUDA_DRIVER(X)  \
  X(cuGetErrorName)             \
  X(cuGetErrorString)           \
  X(cuDeviceGet)                \
  X(cuDeviceGetName)            \
  X(cuDeviceGetUuid)            \
  X(cuDeviceTotalMem)           \
  X(cuDevicePrimaryCtxGetState) \
  X(cuDevicePrimaryCtxRetain)   \
  X(cuDevicePrimaryCtxRelease)  \
  X(cuCtxGetCurrent)            \
  X(cuCtxPushCurrent)           \
  X(cuCtxPopCurrent)            \
  X(cuStreamGetCtx)             \
  X(cuMemGetAddressRange)       \
  X(cuMemsetD16Async)           \
  X(cuMemsetD32Async)
// clang-format on

namespace outback::cuda {

struct driver {
  // cuda.h renames some of them to what they are called in the driver; #name is the plain name.
#define OUTBACK_ENTRY(name) entry<decltype(::name)> name{#name};
  OUTBACK_CUDA_DRIVER(OUTBACK_ENTRY)
#undef OUTBACK_ENTRY
};

/// Throws outback::unsupported, naming it, if the driver has not got a function, and what `check`
/// throws if libcudart fails. Makes no context.
driver find_driver(const cudart& cuda);

}  // namespace outback::cuda
