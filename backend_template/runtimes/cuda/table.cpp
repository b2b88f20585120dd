// The process's one CUDA runtime.
#include "backend_template/runtimes/cuda/cuda.h"
#include "backend_template/runtimes/cuda/cuda_runtime.hpp"

extern "C" const outback_runtime* outback_cuda_runtime(void) {
  // Leaked: tensors may outlive main(), and so may the driver's threads.
  static auto& instance = *new outback::cuda::cuda_runtime();
  return outback::table_of(instance);
}
