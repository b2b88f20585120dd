// What an outback_event of the CUDA runtime points to. It keeps no state of a recording: CUDA knows
// what was recorded, and whether in a capture.
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
