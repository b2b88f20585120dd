// The fake libcudart under the CUDA runtime, and what a test asks of it.
#pragma once

#include <cstdint>

#include "backend_template/runtimes/cuda/driver.hpp"
#include "tests/fakes/cudart/fake_cudart.h"

namespace outback::cuda {

/// The control functions of the fake (see fake_cudart.h).
struct fake_functions {
  decltype(&::fake_cudart_fail) fail;
  decltype(&::fake_cudart_clear_faults) clear_faults;
  decltype(&::fake_cudart_revive) revive;
  decltype(&::fake_cudart_calls) calls;
  decltype(&::fake_cudart_violations) violations;
  decltype(&::fake_cudart_violation) violation;
  decltype(&::fake_cudart_live) live;
  decltype(&::fake_cudart_context_active) context_active;
  decltype(&::fake_cudart_memory_used) memory_used;
  // Of CUDA, beside what the runtime calls.
  decltype(&::cudaGetDevice) get_device;
  decltype(&::cudaStreamGetFlags) stream_flags;
  decltype(&::cudaStreamGetPriority) stream_priority;
};

/// Chooses the fake libraries for this process, with three devices unless the environment says
/// otherwise, and opens them. For the first line of every test: what is chosen later is not seen.
const fake_functions& fake();

/// The fake's CUDA, for what a program does beside the runtime.
const cudart& fake_cuda_functions();
const driver& fake_driver();

}  // namespace outback::cuda
