// Turns CUDA's error numbers into statuses, texts and exceptions.
#pragma once

#include <string>

#include "backend_template/runtimes/cuda/driver.hpp"
#include "outback/runtime_error.hpp"

namespace outback::cuda {

/// Returns the status for an error of libcudart or of the driver, which number errors alike. 0 is
/// OUTBACK_OK; unknown numbers are OUTBACK_INTERNAL.
outback_status status_of(int error) noexcept;

/// Returns whether the error ends the context, so that nothing in the context can be used any more.
inline bool is_sticky(int error) noexcept {
  return status_of(error) == OUTBACK_DEVICE_LOST;
}

/// Returns a text such as "cudaErrorIllegalAddress (700): an illegal memory access was encountered,
/// in cudaMalloc". If the cause is the machine and not the call, a second sentence names the
/// remedy. `call` is the function's name.
std::string describe(const cudart& cuda, cudaError_t error, const char* call);

/// Throws outback::runtime_error with the status and the text for `error`, unless `error` is
/// cudaSuccess. Also clears the thread's last CUDA error: another user of CUDA, such as torch,
/// would otherwise get this error from its next cudaGetLastError.
void check(const cudart& cuda, cudaError_t error, const char* call);

}  // namespace outback::cuda
