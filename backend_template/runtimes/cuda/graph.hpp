// What an outback_graph of the CUDA runtime points to.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>

namespace outback::cuda {

class device;

struct graph {
  device* of;
  // Held around CUDA's calls for this graph, because an executable graph is not safe for two
  // threads at once, and because launches must reach CUDA in the order of the calls. A launch may
  // block while CUDA's queue is full; only users of the same graph wait for it then.
  std::mutex mutex;
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t executable = nullptr;  // null before graphs.instantiate
};

}  // namespace outback::cuda
