#include "tests/fakes/cudart/driver_modules.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "tests/fakes/cudart/attributes.hpp"
#include "tests/fakes/cudart/fat_binary.hpp"
#include "tests/fakes/cudart/launch.hpp"

namespace fake_cuda::driver {
namespace {

// CUDA_ERROR_NOT_FOUND, by the runtime's name of that number.
constexpr cudaError_t not_found = cudaErrorSymbolNotFound;

CUmodule load(call& c, const void* image) {
  require(image != nullptr, "a null pointer");
  auto made = std::make_shared<loaded_module>();
  need_current(c);
  made->parameters = parameters_of_image(image);
  return c.m.modules.add<CUmodule>(std::move(made));
}

loaded_module& find_module(call& c, CUmodule handle) {
  const auto found = c.m.modules.find(handle);
  if (found != nullptr) return *found;
  throw misuse(cudaErrorInvalidResourceHandle,
               c.m.modules.was(handle) ? "the module was unloaded" : "no module");
}

CUresult launch_as(const char* name, CUfunction launched, const kernel_shape& shape, CUstream on,
                   void** arguments, void** extra) {
  return enter(name, [&](call& c) {
    const device& current = need_current(c);
    if (extra != nullptr) throw refusal(cudaErrorNotSupported, "parameters in a buffer");
    const stream_ptr of = driver_stream(c, on);
    if (of->device != current.index) {
      throw refusal(cudaErrorInvalidResourceHandle, "the stream is not the current context's");
    }
    launch(c, find_kernel(c, launched), shape, arguments, *of);
  });
}

}  // namespace

CUresult module_load(CUmodule* made, const char* file) {
  return enter("cuModuleLoad", [&](call& c) {
    require(made != nullptr && file != nullptr, "a null pointer");
    std::ifstream from(file, std::ios::binary);
    if (!from) throw refusal(cudaErrorFileNotFound, fmt::format("{} cannot be read", file));
    const std::string image((std::istreambuf_iterator<char>(from)), {});
    *made = load(c, image.c_str());
  });
}

CUresult module_load_data(CUmodule* made, const void* image) {
  return enter("cuModuleLoadData", [&](call& c) {
    require(made != nullptr, "a null pointer");
    *made = load(c, image);
  });
}

CUresult module_load_data_ex(CUmodule* made, const void* image, unsigned, CUjit_option*, void**) {
  return enter("cuModuleLoadDataEx", [&](call& c) {
    require(made != nullptr, "a null pointer");
    *made = load(c, image);
  });
}

CUresult module_unload(CUmodule gone) {
  return enter("cuModuleUnload", [&](call& c) {
    find_module(c, gone);
    c.m.modules.erase(gone);
  });
}

CUresult module_get_function(CUfunction* found, CUmodule of, const char* name) {
  return enter("cuModuleGetFunction", [&](call& c) {
    require(found != nullptr && name != nullptr, "a null pointer");
    loaded_module& in = find_module(c, of);
    const auto parameters = in.parameters.find(name);
    if (parameters == in.parameters.end() && !in.parameters.empty()) {
      throw refusal(not_found, fmt::format("the module has no kernel {}", name));
    }
    auto& handle = in.functions[name];
    if (handle == nullptr) {
      handle = new char;  // an address that nothing else has; it is never given back
      kernel& made = c.m.kernels.add(handle);
      made.symbol = name;
      if (parameters != in.parameters.end()) made.set_parameters(parameters->second);
    }
    *found = static_cast<CUfunction>(handle);
  });
}

CUresult func_get_attribute(int* value, CUfunction_attribute which, CUfunction of) {
  return enter("cuFuncGetAttribute", [&](call& c) {
    const device& on = need_current(c);
    require(value != nullptr, "a null pointer");
    const kernel& asked = find_kernel(c, of);
    switch (which) {
      case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = attribute(c.m, on, cudaDevAttrMaxThreadsPerBlock);
        break;
      case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = registers_of_a_kernel;
        break;
      case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = c.m.given.capability_major * 10 + c.m.given.capability_minor;
        break;
      case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = asked.dynamic_shared;
        break;
      default:
        *value = 0;
    }
  });
}

CUresult func_set_attribute(CUfunction of, CUfunction_attribute which, int value) {
  return enter("cuFuncSetAttribute", [&](call& c) {
    kernel& changed = find_kernel(c, of);
    if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
      allow_shared(c, changed, need_current(c), value);
    }
  });
}

CUresult func_set_cache_config(CUfunction of, CUfunc_cache) {
  return enter("cuFuncSetCacheConfig", [&](call& c) { find_kernel(c, of); });
}

CUresult launch_kernel(CUfunction launched, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       CUstream on, void** arguments, void** extra) {
  return launch_as(
      "cuLaunchKernel", launched,
      {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .shared = shared},
      on, arguments, extra);
}

CUresult launch_cooperative_kernel(CUfunction launched, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream on,
                                   void** arguments) {
  return launch_as(
      "cuLaunchCooperativeKernel", launched,
      {.grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .shared = shared},
      on, arguments, nullptr);
}

CUresult launch_kernel_ex(const CUlaunchConfig* given, CUfunction launched, void** arguments,
                          void** extra) {
  if (given == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return launch_as("cuLaunchKernelEx", launched,
                   {.grid = {given->gridDimX, given->gridDimY, given->gridDimZ},
                    .block = {given->blockDimX, given->blockDimY, given->blockDimZ},
                    .shared = given->sharedMemBytes},
                   given->hStream, arguments, extra);
}

CUresult occupancy(int* blocks, CUfunction of, int block_size, size_t shared) {
  return enter("cuOccupancyMaxActiveBlocksPerMultiprocessor", [&](call& c) {
    require(blocks != nullptr, "a null pointer");
    find_kernel(c, of);
    *blocks = blocks_that_fit(c, need_current(c), block_size, shared);
  });
}

}  // namespace fake_cuda::driver
