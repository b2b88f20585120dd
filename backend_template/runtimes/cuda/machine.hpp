// What CUDA is once it was started: the driver's functions and the devices.
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
  const cudart& cuda;
  cuda::driver driver = {};
  std::vector<std::unique_ptr<device>> devices = {};
  std::string absence = {};  // why there are no devices
  uint32_t forks = 0;        // fork_count() when CUDA was started
};

/// Starts CUDA, which makes no context, but does not survive a fork. No library, no driver and no
/// device are an answer for good: no devices. Throws outback::runtime_error for all else, such as a
/// machine that is not ready yet, with what to do about it; then one may try again.
std::unique_ptr<machine> start_cuda();

/// How many devices there will be when CUDA is started; -1 where it has to be started to know.
/// Starts nothing.
int32_t count_without_cuda();

}  // namespace outback::cuda
