// The process's one CUDA runtime, and the C function that returns its table.
#include "backend_template/runtimes/cuda/cuda.h"
#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/refused_runtime.hpp"
#include "outback/detail/variables.hpp"

extern "C" const outback_runtime* outback_cuda_runtime(void) {
  // Leaked on purpose: tensors may outlive main(), and so may the driver's threads.
  static const outback_runtime* const table = outback::table_or_refusal([] {
    // The libraries are opened by the first slot that needs them, not here. But a malformed
    // variable is found here, so that a registration fails with its text before there is a backend.
    for (const char* name : {"OUTBACK_CUDART", "OUTBACK_NVML"}) {
      outback::detail::library_variable(name);
    }
    return new outback::cuda::cuda_runtime();
  });
  return table;
}
