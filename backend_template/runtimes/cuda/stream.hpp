// What an outback_stream of the CUDA runtime points to.
#pragma once

#include <cuda_runtime_api.h>

namespace outback::cuda {

class device;

struct stream {
  device* of;
  cudaStream_t handle;  // null, 1 and 2 are the context's own default streams
  bool owned;           // made here and destroyed here; else somebody else's
};

}  // namespace outback::cuda
