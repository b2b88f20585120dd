// Entry points: what kernels need, and how many blocks of one fit on a multiprocessor.
#include <algorithm>

#include "tests/fakes/cudart/attributes.hpp"
#include "tests/fakes/cudart/launch.hpp"

using namespace fake_cuda;

namespace {

int fit(call& c, const void* function, int block_size, std::size_t shared) {
  const device& on = need_context(c.m);
  find_kernel(c, function);
  return blocks_that_fit(c, on, block_size, shared);
}

}  // namespace

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* to, const void* function) {
  return enter(__func__, [&](call& c) {
    const device& on = need_context(c.m);
    require(to != nullptr, "a null pointer");
    const kernel& asked = find_kernel(c, function);
    *to = {};
    to->maxThreadsPerBlock = attribute(c.m, on, cudaDevAttrMaxThreadsPerBlock);
    to->numRegs = registers_of_a_kernel;
    to->ptxVersion = to->binaryVersion =
        c.m.given.capability_major * 10 + c.m.given.capability_minor;
    to->maxDynamicSharedSizeBytes = asked.dynamic_shared;
    to->preferredShmemCarveout = -1;
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute which, int value) {
  return enter(__func__, [&](call& c) {
    const device& on = need_context(c.m);
    kernel& changed = find_kernel(c, function);
    if (which == cudaFuncAttributeMaxDynamicSharedMemorySize) allow_shared(c, changed, on, value);
  });
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return enter(__func__, [&](call& c) { find_kernel(c, function); });
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return enter(__func__, [&](call& c) {
    require(name != nullptr, "a null pointer");
    *name = find_kernel(c, function).symbol.c_str();
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* found, const void* function) {
  return enter(__func__, [&](call& c) {
    require(found != nullptr, "a null pointer");
    *found = static_cast<cudaFunction_t>(const_cast<void*>(find_kernel(c, function).host));
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int block_size, size_t shared) {
  return enter(__func__, [&](call& c) {
    require(blocks != nullptr, "a null pointer");
    *blocks = fit(c, function, block_size, shared);
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                   const void* function,
                                                                   int block_size, size_t shared,
                                                                   unsigned) {
  return enter(__func__, [&](call& c) {
    require(blocks != nullptr, "a null pointer");
    *blocks = fit(c, function, block_size, shared);
  });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* given) {
  return enter(__func__, [&](call& c) {
    require(clusters != nullptr && given != nullptr, "a null pointer");
    const device& on = need_context(c.m);
    const dim3& block = given->blockDim;
    const int blocks = fit(c, function, int(block.x * block.y * block.z), given->dynamicSmemBytes);
    int size = 1;
    for (unsigned i = 0; i < given->numAttrs; ++i) {
      if (given->attrs[i].id != cudaLaunchAttributeClusterDimension) continue;
      const auto& cluster = given->attrs[i].val.clusterDim;
      size = int(cluster.x * cluster.y * cluster.z);
    }
    *clusters = blocks * attribute(c.m, on, cudaDevAttrMultiProcessorCount) / std::max(size, 1);
  });
}
