// Entry points: launches of kernels.
#include "tests/fakes/cudart/launch.hpp"

using namespace fake_cuda;

namespace {

cudaError_t launch_as(const char* name, const void* function, dim3 grid, dim3 block,
                      void** arguments, std::size_t shared, cudaStream_t on) {
  return enter(name, [&](call& c) {
    launch(c, find_kernel(c, function), {.grid = grid, .block = block, .shared = shared}, arguments,
           *find_stream_here(c, on));
  });
}

}  // namespace

// What `kernel<<<...>>>` compiles to.
#pragma GCC visibility push(default)
extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* on) {
  this_thread().pushed_launches.push_back(
      {.shape = {.grid = grid, .block = block, .shared = shared}, .on = on});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* on) {
  auto& pushed = this_thread().pushed_launches;
  if (pushed.empty()) return cudaErrorMissingConfiguration;
  const pushed_launch last = pushed.back();
  pushed.pop_back();
  *grid = last.shape.grid;
  *block = last.shape.block;
  *shared = last.shape.shared;
  *static_cast<cudaStream_t*>(on) = last.on;
  return cudaSuccess;
}

// A kernel's handle is the address of what stands for it in the program.
cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* function) {
  return enter(__func__, entry::free_of_driver, [&](call& c) {
    *handle = static_cast<cudaKernel_t>(const_cast<void*>(find_kernel(c, function).host));
  });
}

cudaError_t __cudaLaunchKernel(cudaKernel_t handle, dim3 grid, dim3 block, void** arguments,
                               size_t shared, cudaStream_t on) {
  return launch_as(__func__, handle, grid, block, arguments, shared, on);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t handle, dim3 grid, dim3 block, void** arguments,
                                    size_t shared, cudaStream_t on) {
  return launch_as(__func__, handle, grid, block, arguments, shared,
                   on == nullptr ? cudaStreamPerThread : on);
}

}  // extern "C"
#pragma GCC visibility pop

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared, cudaStream_t on) {
  return launch_as(__func__, function, grid, block, arguments, shared, on);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                        void** arguments, size_t shared, cudaStream_t on) {
  return launch_as(__func__, function, grid, block, arguments, shared, on);
}

// Clusters, priorities and overlaps with other kernels change nothing here.
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* given, const void* function,
                                void** arguments) {
  return enter(__func__, [&](call& c) {
    require(given != nullptr, "a null pointer");
    launch(c, find_kernel(c, function),
           {.grid = given->gridDim, .block = given->blockDim, .shared = given->dynamicSmemBytes},
           arguments, *find_stream_here(c, given->stream));
  });
}
