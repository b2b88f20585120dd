// The driver functions that have no equivalent in libcudart. libcudart finds them at run time.
//
// With these functions the runtime can preserve the current device: a context can be pushed and
// popped again, while cudaSetDevice cannot restore "no current device" without making a context.
#pragma once

#include <cuda.h>

#include "backend_template/runtimes/cuda/cudart.hpp"

// clang-format off: a line each.
#define OUTBACK_CUDA_DRIVER(X)  \
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
  X(cuMemsetD32Async)           \
  X(cuModuleLoadDataEx)         \
  X(cuModuleUnload)             \
  X(cuModuleGetFunction)        \
  X(cuFuncGetAttribute)         \
  X(cuFuncSetAttribute)         \
  X(cuLaunchKernel)

// Drivers older than CUDA 12.4 lack this function; then nobody knows a kernel's parameters.
#define OUTBACK_CUDA_DRIVER_OPTIONAL(X) \
  X(cuFuncGetParamInfo, 12040)
// clang-format on

namespace outback::cuda {

/// One entry for each function above; the optional ones may be null.
struct driver {
  // cuda.h renames some functions by macros to their names in the driver; #name is the plain name.
#define OUTBACK_ENTRY(name) library_function<decltype(::name)> name{#name};
#define OUTBACK_OPTIONAL_ENTRY(name, since) OUTBACK_ENTRY(name)
  OUTBACK_CUDA_DRIVER(OUTBACK_ENTRY)
  OUTBACK_CUDA_DRIVER_OPTIONAL(OUTBACK_OPTIONAL_ENTRY)
#undef OUTBACK_OPTIONAL_ENTRY
#undef OUTBACK_ENTRY
};

/// Fills the table. Makes no context. Throws outback::unsupported with the name of a function that
/// the driver lacks. Throws like `check` (errors.hpp) if libcudart fails.
driver find_driver(const cudart& cuda);

}  // namespace outback::cuda
