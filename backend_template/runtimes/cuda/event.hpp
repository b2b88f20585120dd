// An outback_event of the CUDA runtime points to this struct. It stores nothing about recordings:
// CUDA knows the recorded work, and whether the recording was in a capture.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace outback::cuda {

class device;

struct event {
  device* of;
  cudaEvent_t handle;
  uint32_t flags;  // OUTBACK_EVENT_*
};

}  // namespace outback::cuda
