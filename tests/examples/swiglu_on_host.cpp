// The kernels of examples/cuda_kernel, compiled for the host and run by the stand-in for libcudart.
#include "tests/fakes/cudart/host_kernel.hpp"
// After what it reads.
#include "examples/cuda_kernel/swiglu.cu"

namespace {

template <class scalar_t>
bool known() {
  return fake_cuda::runs_on_the_host<&swiglu_forward<scalar_t>>("swiglu_forward") &&
         fake_cuda::runs_on_the_host<&swiglu_backward<scalar_t>>("swiglu_backward");
}

// When the library is loaded, as nvcc's output does it. So a program that loads it is the same here
// and on a device.
[[gnu::constructor]] void make_known() {
  TORCH_CHECK(known<float>() && known<double>() && known<c10::Half>() && known<c10::BFloat16>(),
              "the stand-in does not take the kernels");
}

}  // namespace
