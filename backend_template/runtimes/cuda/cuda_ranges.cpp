// The range slots of the CUDA runtime: NVTX, which is headers alone. A tool such as Nsight Systems
// is found by the headers at the first call; without one they do nothing.
#include "backend_template/runtimes/cuda/cuda_runtime.hpp"

#if OUTBACK_CUDA_HAS_NVTX

#include <nvtx3/nvToolsExt.h>

namespace outback::cuda {

// NVTX keeps the ranges of each thread. What its functions return are levels, which are negative
// where no tool counts them.
void cuda_runtime::range_push(const char* name) {
  nvtxRangePushA(name);
}

void cuda_runtime::range_pop() {
  nvtxRangePop();
}

void cuda_runtime::range_mark(const char* name) {
  nvtxMarkA(name);
}

}  // namespace outback::cuda

#endif
