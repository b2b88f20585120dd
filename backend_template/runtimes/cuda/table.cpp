// The process's one CUDA runtime, and the C function that returns its table.
#include "backend_template/runtimes/cuda/cuda.h"
#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "outback/detail/refused_table.hpp"
#include "outback/detail/variables.hpp"

namespace outback::cuda {
namespace {

// The libraries are opened by the first slot that needs them, not here. But a malformed variable is
// found here, so that a registration fails with its text before there is a backend.
const outback_runtime* table_made_once() {
  const outback_runtime* table = table_of(*new cuda_runtime());
  try {
    for (const char* name : {"OUTBACK_CUDART", "OUTBACK_NVML"}) {
      outback::detail::library_variable(name);
    }
  } catch (const invalid_argument& error) {
    outback::detail::refuse_table(table, error.what());
  }
  return table;
}

}  // namespace
}  // namespace outback::cuda

extern "C" const outback_runtime* outback_cuda_runtime(void) {
  // Leaked on purpose: tensors may outlive main(), and so may the driver's threads.
  static const outback_runtime* const table = outback::cuda::table_made_once();
  return table;
}
