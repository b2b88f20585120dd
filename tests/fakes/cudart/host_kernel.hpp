// Kernels of a .cu file that run on the host: what they read beside their parameters, and bodies on
// the stand-in that are the kernels themselves. Include it before the .cu file.
//
// CUDA's headers make __global__ and its like empty for a C++ compiler. The file must launch by
// cudaLaunchKernelEx or cudaLaunchKernel. Threads run one after another, so a kernel must not wait
// for others (__syncthreads) nor share memory with them.
#pragma once

#include <cuda_runtime.h>

#include "tests/fakes/cudart/fake_kernels.h"

// As CUDA spells them. Of each thread, since streams run kernels at the same time.
inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;

namespace fake_cuda {

namespace detail {

/// Calls `one` for each place in a box of that size.
template <class Function>
void for_each_place(const unsigned (&size)[3], uint3& place, Function one) {
  for (place.z = 0; place.z < size[2]; ++place.z) {
    for (place.y = 0; place.y < size[1]; ++place.y) {
      for (place.x = 0; place.x < size[0]; ++place.x) one();
    }
  }
}

template <auto* kernel, class... Parameters, std::size_t... i>
void run_blocks(const fake_cudart_shape& shape, void** arguments, std::index_sequence<i...>) {
  gridDim = {shape.grid[0], shape.grid[1], shape.grid[2]};
  blockDim = {shape.block[0], shape.block[1], shape.block[2]};
  for_each_place(shape.grid, blockIdx, [&] {
    for_each_place(shape.block, threadIdx,
                   [&] { kernel(*static_cast<Parameters*>(arguments[i])...); });
  });
}

template <auto* kernel, class... Parameters>
bool set_body(const char* name, void (*)(Parameters...)) {
  const std::size_t sizes[] = {sizeof(Parameters)...};
  const auto body = [](const fake_cudart_shape* shape, void** arguments, void*) {
    run_blocks<kernel, Parameters...>(*shape, arguments, std::index_sequence_for<Parameters...>());
  };
  return fake_cudart_set_body(reinterpret_cast<const void*>(kernel), name, sizes,
                              sizeof...(Parameters), body, nullptr) == 0;
}

}  // namespace detail

/// Makes `kernel` known to the stand-in as `name`, with itself as its body. False on failure.
template <auto* kernel>
bool runs_on_the_host(const char* name) {
  return detail::set_body<kernel>(name, kernel);
}

}  // namespace fake_cuda
