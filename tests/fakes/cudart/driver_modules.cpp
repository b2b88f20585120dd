#include "tests/fakes/cudart/driver_modules.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/fakes/cudart/attributes.hpp"
#include "tests/fakes/cudart/fat_binary.hpp"
#include "tests/fakes/cudart/launch.hpp"
#include "tests/fakes/cudart/ptx.hpp"

namespace fake_cuda::driver {
namespace {

// CUDA_ERROR_NOT_FOUND, by the runtime's name of that number.
constexpr cudaError_t not_found = cudaErrorSymbolNotFound;

constexpr Elf64_Half cuda = 190;  // EM_CUDA

void read_elf(const void* image, loaded_module& to) {
  if (host_image::is_one(image)) {
    to.code = std::make_shared<const host_image>(image);
    return;
  }
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  if (header.e_machine != cuda) {
    throw refusal(cudaErrorNoKernelImageForDevice,
                  fmt::format("the image is for another machine, {}", header.e_machine));
  }
  to.parameters = parameters_of_image(image);
  if (to.parameters->empty()) to.parameters.reset();
}

void read_image(const void* image, loaded_module& to) {
  const auto* const bytes = static_cast<const char*>(image);
  if (std::memcmp(image, ELFMAG, SELFMAG) == 0) return read_elf(image, to);
  // A fatbin, or nvcc's wrapper around one.
  constexpr char fatbin[] = "\x50\xed\x55\xba", wrapper[] = "\xb1\x43\x62\x46";
  if (std::memcmp(image, fatbin, 4) == 0 || std::memcmp(image, wrapper, 4) == 0) return;
  const auto first = static_cast<unsigned char>(*bytes);
  if (std::isprint(first) == 0 && std::isspace(first) == 0) {
    throw refusal(cudaErrorInvalidKernelImage, "neither machine code nor text");
  }
  to.parameters = parameters_of_ptx(bytes);
}

CUmodule load(call& c, const void* image) {
  require(image != nullptr, "a null pointer");
  auto made = std::make_shared<loaded_module>();
  need_current(c);
  read_image(image, *made);
  return c.m.modules.add<CUmodule>(std::move(made));
}

// Gives a compiler's words to whoever has asked for them.
void write_log(const std::string& words, unsigned count, const CUjit_option* options,
               void* const* values) {
  const auto value_of = [&](CUjit_option wanted) -> void* {
    const auto found = std::find(options, options + count, wanted);
    return found == options + count ? nullptr : values[found - options];
  };
  auto* const log = static_cast<char*>(value_of(CU_JIT_ERROR_LOG_BUFFER));
  const auto size = reinterpret_cast<std::size_t>(value_of(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES));
  if (log == nullptr || size == 0) return;
  log[words.copy(log, size - 1)] = '\0';
}

// The kernel's parameters and body, where its module has the kernel.
void find_kernel_in(const loaded_module& in, const char* name, kernel& made) {
  made.symbol = name;
  made.uses = in.uses;
  if (in.code != nullptr) {
    const outback_host_kernel* const found = in.code->find(name);
    if (found == nullptr)
      throw refusal(not_found, fmt::format("the module has no kernel {}", name));
    const auto placed =
        place_parameters({found->argument_sizes, found->argument_sizes + found->argument_count});
    made.set_parameters(placed);
    made.max_threads = found->max_items;
    made.body = body_of(in.code, *found, placed);
  } else if (in.parameters) {
    const auto found = in.parameters->find(name);
    if (found == in.parameters->end()) {
      throw refusal(not_found, fmt::format("the module has no kernel {}", name));
    }
    made.set_parameters(found->second);
  }
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

CUresult module_load_data_ex(CUmodule* made, const void* image, unsigned count,
                             CUjit_option* options, void** values) {
  return enter("cuModuleLoadDataEx", [&](call& c) {
    require(made != nullptr, "a null pointer");
    try {
      *made = load(c, image);
    } catch (const refusal& refused) {
      if (refused.error() == cudaErrorInvalidPtx) write_log(refused.text(), count, options, values);
      throw;
    }
  });
}

CUresult module_unload(CUmodule gone) {
  return enter("cuModuleUnload", [&](call& c) {
    const loaded_module& found = find_module(c, gone);
    if (found.uses.use_count() > 1) {
      throw misuse(cudaErrorInvalidResourceHandle,
                   "launches of the module's kernels are not done, or are in a graph");
    }
    for (const auto& [name, handle] : found.functions) {
      kernel& of = find_kernel(c, handle);
      of.unloaded = true;
      of.body = nullptr;  // which has the code
    }
    c.m.modules.erase(gone);
  });
}

CUresult module_get_function(CUfunction* found, CUmodule of, const char* name) {
  return enter("cuModuleGetFunction", [&](call& c) {
    require(found != nullptr && name != nullptr, "a null pointer");
    loaded_module& in = find_module(c, of);
    auto known = in.functions.find(name);
    if (known == in.functions.end()) {
      kernel made;
      find_kernel_in(in, name, made);
      // An address that nothing else has; it is never given back.
      known = in.functions.emplace(name, new char).first;
      made.host = known->second;
      c.m.kernels.add(known->second) = std::move(made);
    }
    *found = static_cast<CUfunction>(known->second);
  });
}

CUresult func_get_param_info(CUfunction of, size_t index, size_t* offset, size_t* size) {
  return enter("cuFuncGetParamInfo", [&](call& c) {
    require(offset != nullptr, "a null pointer");
    const auto& parameters = find_kernel(c, of).parameters();
    if (!parameters) throw refusal(cudaErrorNotSupported, "the parameters are not known");
    // The only way to count parameters is to ask until this answer, so it is nobody's mistake.
    if (index >= parameters->size()) throw failure(cudaErrorInvalidValue);
    *offset = (*parameters)[index].offset;
    if (size != nullptr) *size = (*parameters)[index].size;
  });
}

CUresult func_get_attribute(int* value, CUfunction_attribute which, CUfunction of) {
  return enter("cuFuncGetAttribute", [&](call& c) {
    const device& on = need_current(c);
    require(value != nullptr, "a null pointer");
    const kernel& asked = find_kernel(c, of);
    switch (which) {
      case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = int(threads_of_a_block(c, asked, on));
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
