// What CUDA's errors become.
#pragma once

#include <string>

#include "backend_template/runtimes/cuda/driver.hpp"
#include "outback/runtime_error.hpp"

namespace outback::cuda {

/// The status for an error of libcudart or of the driver: the numbers are the same.
outback_status status_of(int error) noexcept;

/// After it the context, and all that is in it, cannot be used any more.
inline bool is_sticky(int error) noexcept {
  return status_of(error) == OUTBACK_DEVICE_LOST;
}

/// "cudaErrorIllegalAddress (700): an illegal memory access was encountered, in cudaMalloc". Where
/// the machine is to blame and not the call, what to do about it follows: ". Another process ...".
std::string describe(const cudart& cuda, cudaError_t error, const char* call);
std::string describe(const driver& driver, CUresult error, const char* call);

/// Throws what `error` stands for, unless it is cudaSuccess, and takes it out of this thread's last
/// error first: who asks for that next, torch say, made other calls. `details` follows the text.
void check(const cudart& cuda, cudaError_t error, const char* call,
           const std::string& details = "");

}  // namespace outback::cuda
