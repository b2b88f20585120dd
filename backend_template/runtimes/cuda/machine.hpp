// CUDA after its start: the driver's functions and the devices. The runtime makes one `machine`
// when a slot first needs CUDA.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend_template/runtimes/cuda/device.hpp"
#include "backend_template/runtimes/cuda/driver.hpp"
#include "backend_template/runtimes/cuda/library.hpp"

namespace outback::cuda {

struct machine {
  const cudart& cuda;  // lives as long as the process
  cuda::driver driver = {};
  std::vector<std::unique_ptr<device>> devices = {};
  std::string absence = {};  // why there are no devices; "" if there are devices
  uint32_t forks = 0;        // fork_count() when CUDA was started
};

/// Starts CUDA and lists its devices; makes no context. A started CUDA does not survive a fork. The
/// first call takes long, because the driver initialises itself.
///
/// A missing library, driver or device is a final answer: the result has no devices, and `absence`
/// says why. Throws outback::runtime_error for every other error, for example if the machine's
/// daemons do not run yet; the text names the remedy, and the caller may try again later.
std::unique_ptr<machine> start_cuda();

/// Returns how many devices CUDA will have once it is started, from NVML and CUDA_VISIBLE_DEVICES,
/// or -1 if only CUDA can tell. Does not start CUDA. Each call asks NVML again.
int32_t count_without_cuda();

}  // namespace outback::cuda
