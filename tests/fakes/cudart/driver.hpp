// Functions of libcuda, which are asked for by cudaGetDriverEntryPoint and are exported by no name:
// this is no libcuda.
#pragma once

#include <span>

#include "tests/fakes/cudart/enter.hpp"

namespace fake_cuda::driver {

/// One function as one release has it. Later ones of the same name have another signature.
struct function {
  const char* name;  // without a version's suffix
  unsigned since;    // the CUDA version, 12050 for 12.5
  void* address;
};
std::span<const function> functions();

/// `enter` for the driver's entry points: its results are numbered as the runtime's errors are, and
/// are nobody's last error.
template <class Body>
CUresult enter(const char* name, const Body& body) noexcept {
  const cudaError_t before = this_thread().last_error;
  const cudaError_t error = fake_cuda::enter(name, entry::free_of_driver, [&](call& c) {
    if (c.m.forked || !c.m.driver_ready) {
      throw refusal(cudaErrorInitializationError, "cuInit was not called in this process");
    }
    body(c);
  });
  this_thread().last_error = before;
  // This one alone is only the runtime's.
  return error == cudaErrorInvalidConfiguration ? CUDA_ERROR_INVALID_VALUE : CUresult(error);
}

}  // namespace fake_cuda::driver
