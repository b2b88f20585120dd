// How entry points fail: they throw one of these, and `enter` turns it into CUDA's answer.
#pragma once

#include <exception>
#include <string>

#include "tests/fakes/cudart/cuda_api.hpp"

namespace fake_cuda {

/// An answer that is no mistake of the caller's: out of memory, not ready, a lost device.
class failure : public std::exception {
 public:
  explicit failure(cudaError_t error) : error_(error) {}
  cudaError_t error() const noexcept { return error_; }

 private:
  cudaError_t error_;
};

/// What CUDA documents an error for: the caller was wrong, and is told so.
class refusal : public failure {
 public:
  refusal(cudaError_t error, std::string text) : failure(error), text_(std::move(text)) {}
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

/// What CUDA leaves undefined, or need not notice. Here it is noticed.
class misuse : public refusal {
 public:
  using refusal::refusal;
};

/// Throws cudaErrorInvalidValue, where `given` is false.
inline void require(bool given, const char* text) {
  if (!given) throw refusal(cudaErrorInvalidValue, text);
}

/// Errors after which a device answers nothing else: https://docs.nvidia.com, error handling.
bool is_sticky(cudaError_t error);

/// "cudaErrorInvalidValue"; null where there is no such error.
const char* runtime_name(int error);
/// "CUDA_ERROR_INVALID_VALUE"; null likewise.
const char* driver_name(int error);
const char* error_text(int error);

}  // namespace fake_cuda
