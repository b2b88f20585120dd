// An outback_graph of the CUDA runtime points to this struct.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>

namespace outback::cuda {

class device;

struct graph {
  device* of;
  // Held during CUDA's calls for this graph, because an executable graph is not safe for use by two
  // threads at once, and because launches must reach CUDA in the order of the slot's calls. A
  // launch may block while CUDA's queue is full; then only users of the same graph wait.
  std::mutex mutex;
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t executable = nullptr;  // null before graphs.instantiate
};

}  // namespace outback::cuda
