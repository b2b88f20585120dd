// Puts the fake libraries of this build under the CUDA runtime, by the environment.
#pragma once

#include <cstdlib>

namespace outback::cuda {

/// What the environment says already stays.
inline void choose_fake_libraries() {
  setenv("OUTBACK_CUDART", OUTBACK_TEST_FAKE_CUDART, 0);
  setenv("OUTBACK_NVML", OUTBACK_TEST_FAKE_NVML, 0);
  setenv("FAKE_CUDA_DEVICES", "3", 0);
}

}  // namespace outback::cuda
