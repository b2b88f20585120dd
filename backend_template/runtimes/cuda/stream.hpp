// What an outback_stream points to.
#pragma once

#include <cuda_runtime_api.h>

namespace outback::cuda {

class device;

struct stream {
  device* of;
  cudaStream_t handle;  // null, 1 and 2 are streams of the context's own
  bool owned;           // made here; if not, somebody else destroys it
};

}  // namespace outback::cuda
