#include "backend_template/runtimes/cuda/driver.hpp"

#include "backend_template/runtimes/cuda/errors.hpp"

namespace outback::cuda {
namespace {

// The version whose function signatures this file was compiled for. For a newer version the driver
// might return a function with other parameters under the same name.
constexpr unsigned interface_version = 12000;

// Returns the function as it was in CUDA `version`; null if the driver has none.
void* find_function(const cudart& cuda, const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  if (cuda.cudaGetDriverEntryPointByVersion) {
    check(cuda,
          cuda.cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableLegacyStream,
                                                &result),
          cuda.cudaGetDriverEntryPointByVersion.name);
  } else if (cuda.cudaGetDriverEntryPoint) {
    check(cuda, cuda.cudaGetDriverEntryPoint(name, &function, cudaEnableLegacyStream, &result),
          cuda.cudaGetDriverEntryPoint.name);
  }
  // The call may succeed without a function, and then only `result` says so.
  return result == cudaDriverEntryPointSuccess ? function : nullptr;
}

}  // namespace

driver find_driver(const cudart& cuda) {
  driver found;
  const auto need = [&](auto& function) {
    function.set(find_function(cuda, function.name, interface_version));
    if (function) return;
    throw unsupported(std::string("the CUDA driver has no ") + function.name +
                      ": one of CUDA 12.0 or newer is needed");
  };
  const auto look_for = [&](auto& function, unsigned version) {
    try {
      function.set(find_function(cuda, function.name, version));
    } catch (const runtime_error&) {
      // CUDA's answer to a version that is newer than the driver.
    }
  };
#define OUTBACK_NEED(name) need(found.name);
#define OUTBACK_LOOK_FOR(name, since) look_for(found.name, since);
  OUTBACK_CUDA_DRIVER(OUTBACK_NEED)
  OUTBACK_CUDA_DRIVER_OPTIONAL(OUTBACK_LOOK_FOR)
#undef OUTBACK_NEED
#undef OUTBACK_LOOK_FOR
  return found;
}

}  // namespace outback::cuda
