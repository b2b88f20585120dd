// What an outback_event points to. What was recorded, and whether in a capture, CUDA knows.
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
