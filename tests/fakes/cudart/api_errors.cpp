// Entry points: errors and versions. None needs a driver.
#include "tests/fakes/cudart/enter.hpp"

using fake_cuda::call;
using fake_cuda::enter;
using fake_cuda::entry;
using fake_cuda::this_thread;

namespace {

constexpr const char* unknown = "unrecognized error code";

// What one thread has seen of a lost device stays its last error.
cudaError_t last_error(const char* name, bool clear) {
  const call c(name);
  c.m.faults.next(name);
  cudaError_t& last = this_thread().last_error;
  const cudaError_t answer = last;
  if (clear && !fake_cuda::is_sticky(answer)) last = cudaSuccess;
  return answer;
}

}  // namespace

cudaError_t cudaGetLastError() {
  return last_error(__func__, true);
}
cudaError_t cudaPeekAtLastError() {
  return last_error(__func__, false);
}

const char* cudaGetErrorName(cudaError_t error) {
  const char* const name = fake_cuda::runtime_name(error);
  return name == nullptr ? unknown : name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const char* const text = fake_cuda::error_text(error);
  return text == nullptr ? unknown : text;
}

cudaError_t cudaDriverGetVersion(int* version) {
  return enter(__func__, entry::free_of_driver, [&](call& c) {
    fake_cuda::require(version != nullptr, "a null pointer");
    *version = c.m.given.init_error == cudaErrorInsufficientDriver ? 0 : c.m.given.driver_version;
  });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return enter(__func__, entry::free_of_driver, [&](call&) {
    fake_cuda::require(version != nullptr, "a null pointer");
    *version =
        FAKE_CUDART_MAJOR == CUDART_VERSION / 1000 ? CUDART_VERSION : FAKE_CUDART_MAJOR * 1000;
  });
}
