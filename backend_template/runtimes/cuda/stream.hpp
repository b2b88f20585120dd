// An outback_stream of the CUDA runtime points to this struct.
#pragma once

#include <cuda_runtime_api.h>

namespace outback::cuda {

class device;

struct stream {
  device* of;
  cudaStream_t handle;        // null, 1 and 2 are the context's own default streams
  bool owned;                 // true: this runtime makes and destroys it
  bool has_launches = false;  // had a launch of a module's kernel; written by unloading::add_stream
};

}  // namespace outback::cuda
