// What an outback_graph points to.
#pragma once

#include <cuda_runtime_api.h>

#include <mutex>

namespace outback::cuda {

class device;

struct graph {
  device* of;
  // CUDA's executable graphs are not for two threads at once, and its launches are to come in the
  // order of the calls, so this one lock is held around a call of CUDA's that may wait (for room in
  // a queue). Nobody but users of this graph ever waits for it.
  std::mutex mutex;
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t executable = nullptr;  // null until it was instantiated
};

}  // namespace outback::cuda
