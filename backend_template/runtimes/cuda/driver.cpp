#include "backend_template/runtimes/cuda/driver.hpp"

#include "backend_template/runtimes/cuda/errors.hpp"

namespace outback::cuda {
namespace {

// The version whose function signatures this file was compiled for. For a newer version the driver
// might return a function with other parameters under the same name.
constexpr unsigned interface_version = 12000;

void* find_function(const cudart& cuda, const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  if (cuda.cudaGetDriverEntryPointByVersion) {
    check(cuda,
          cuda.cudaGetDriverEntryPointByVersion(name, &function, interface_version,
                                                cudaEnableLegacyStream, &result),
          cuda.cudaGetDriverEntryPointByVersion.name);
  } else if (cuda.cudaGetDriverEntryPoint) {
    check(cuda, cuda.cudaGetDriverEntryPoint(name, &function, cudaEnableLegacyStream, &result),
          cuda.cudaGetDriverEntryPoint.name);
  }
  // The call may succeed without a function, and then only `result` says so.
  if (function != nullptr && result == cudaDriverEntryPointSuccess) return function;
  throw unsupported(std::string("the CUDA driver has no ") + name +
                    ": one of CUDA 12.0 or newer is needed");
}

}  // namespace

driver find_driver(const cudart& cuda) {
  driver found;
  const auto find = [&](auto& function) { function.set(find_function(cuda, function.name)); };
#define OUTBACK_LOOK_UP(name) find(found.name);
  OUTBACK_CUDA_DRIVER(OUTBACK_LOOK_UP)
#undef OUTBACK_LOOK_UP
  return found;
}

}  // namespace outback::cuda
