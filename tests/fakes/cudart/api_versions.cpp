// Entry points whose signature differs between CUDA 12 and 13, under the names of the release that
// this library is (FAKE_CUDART_MAJOR). cuda_runtime_api.h declares those of its own release only,
// so these are bound by name.
#include <cstring>

#include "tests/fakes/cudart/attributes.hpp"
#include "tests/fakes/cudart/enqueue.hpp"

using namespace fake_cuda;

#define FAKE_CUDA_NAMED(name) __asm__(name) __attribute__((visibility("default")))

namespace {

void capture_info(call& c, cudaStream_t handle, cudaStreamCaptureStatus* status,
                  unsigned long long* id, cudaGraph_t* graph_handle,
                  const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                  size_t* count) {
  require(status != nullptr, "a null pointer");
  const stream_ptr asked = find_stream(c, handle);
  if (asked->legacy) check_capture(c, *asked);
  const auto& captured = asked->captured;
  *status = captured == nullptr ? cudaStreamCaptureStatusNone
            : captured->invalid ? cudaStreamCaptureStatusInvalidated
                                : cudaStreamCaptureStatusActive;
  if (*status != cudaStreamCaptureStatusActive) return;
  if (id != nullptr) *id = captured->id;
  if (graph_handle != nullptr) {
    if (captured->told_graph == nullptr) {
      captured->told_graph = c.m.graphs.add<cudaGraph_t>(captured->made);
    }
    *graph_handle = captured->told_graph;
  }
  if (dependencies != nullptr) {
    asked->told_frontier.clear();
    for (const std::size_t each : asked->frontier) {
      asked->told_frontier.push_back(node_handle(*captured->made, each));
    }
    *dependencies = asked->told_frontier.data();
  }
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = asked->frontier.size();
}

// The layout is that of the headers, which is the release's own where they are of that release.
cudaError_t properties(const char* name, cudaDeviceProp* to, int index) {
  return enter(name, [&](call& c) {
    require(to != nullptr, "a null pointer");
    const device& of = c.m.device_at(index);
    *to = {};
    std::strncpy(to->name, of.described.name.c_str(), sizeof(to->name) - 1);
    std::memcpy(to->uuid.bytes, of.described.uuid.data(), sizeof(to->uuid.bytes));
    to->totalGlobalMem = of.described.memory;
    const auto value = [&](cudaDeviceAttr which) { return attribute(c.m, of, which); };
    to->sharedMemPerBlock = std::size_t(value(cudaDevAttrMaxSharedMemoryPerBlock));
    to->sharedMemPerBlockOptin = std::size_t(value(cudaDevAttrMaxSharedMemoryPerBlockOptin));
    to->sharedMemPerMultiprocessor =
        std::size_t(value(cudaDevAttrMaxSharedMemoryPerMultiprocessor));
    to->reservedSharedMemPerBlock = std::size_t(value(cudaDevAttrReservedSharedMemoryPerBlock));
    to->totalConstMem = std::size_t(value(cudaDevAttrTotalConstantMemory));
    to->memPitch = std::size_t(value(cudaDevAttrMaxPitch));
    to->textureAlignment = std::size_t(value(cudaDevAttrTextureAlignment));
    to->texturePitchAlignment = std::size_t(value(cudaDevAttrTexturePitchAlignment));
    to->surfaceAlignment = std::size_t(value(cudaDevAttrSurfaceAlignment));
    to->regsPerBlock = value(cudaDevAttrMaxRegistersPerBlock);
    to->regsPerMultiprocessor = value(cudaDevAttrMaxRegistersPerMultiprocessor);
    to->warpSize = value(cudaDevAttrWarpSize);
    to->maxThreadsPerBlock = value(cudaDevAttrMaxThreadsPerBlock);
    to->maxThreadsPerMultiProcessor = value(cudaDevAttrMaxThreadsPerMultiProcessor);
    to->maxBlocksPerMultiProcessor = value(cudaDevAttrMaxBlocksPerMultiprocessor);
    to->maxThreadsDim[0] = value(cudaDevAttrMaxBlockDimX);
    to->maxThreadsDim[1] = value(cudaDevAttrMaxBlockDimY);
    to->maxThreadsDim[2] = value(cudaDevAttrMaxBlockDimZ);
    to->maxGridSize[0] = value(cudaDevAttrMaxGridDimX);
    to->maxGridSize[1] = value(cudaDevAttrMaxGridDimY);
    to->maxGridSize[2] = value(cudaDevAttrMaxGridDimZ);
    to->multiProcessorCount = value(cudaDevAttrMultiProcessorCount);
    to->memoryBusWidth = value(cudaDevAttrGlobalMemoryBusWidth);
    to->l2CacheSize = value(cudaDevAttrL2CacheSize);
    to->persistingL2CacheMaxSize = value(cudaDevAttrMaxPersistingL2CacheSize);
    to->major = value(cudaDevAttrComputeCapabilityMajor);
    to->minor = value(cudaDevAttrComputeCapabilityMinor);
    to->pciBusID = value(cudaDevAttrPciBusId);
    to->asyncEngineCount = value(cudaDevAttrAsyncEngineCount);
    to->canMapHostMemory = to->unifiedAddressing = to->concurrentKernels = 1;
    to->streamPrioritiesSupported = to->cooperativeLaunch = to->clusterLaunch = 1;
    to->computePreemptionSupported = to->ipcEventSupported = to->hostRegisterSupported = 1;
    to->globalL1CacheSupported = to->localL1CacheSupported = 1;
    to->canUseHostPointerForRegisteredMem = 1;
  });
}

}  // namespace

extern "C" {

#if FAKE_CUDART_MAJOR >= 13
cudaError_t fake_properties(cudaDeviceProp*, int) FAKE_CUDA_NAMED("cudaGetDeviceProperties");
cudaError_t fake_capture_info(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long*,
                              cudaGraph_t*, const cudaGraphNode_t**, const cudaGraphEdgeData**,
                              size_t*) FAKE_CUDA_NAMED("cudaStreamGetCaptureInfo");
#else
cudaError_t fake_properties(cudaDeviceProp*, int) FAKE_CUDA_NAMED("cudaGetDeviceProperties_v2");
cudaError_t fake_capture_info(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long*,
                              cudaGraph_t*, const cudaGraphNode_t**, const cudaGraphEdgeData**,
                              size_t*) FAKE_CUDA_NAMED("cudaStreamGetCaptureInfo_v3");
cudaError_t fake_capture_info_1(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long*)
    FAKE_CUDA_NAMED("cudaStreamGetCaptureInfo");
cudaError_t fake_capture_info_2(cudaStream_t, cudaStreamCaptureStatus*, unsigned long long*,
                                cudaGraph_t*, const cudaGraphNode_t**, size_t*)
    FAKE_CUDA_NAMED("cudaStreamGetCaptureInfo_v2");
cudaError_t fake_elapsed_2(float*, cudaEvent_t, cudaEvent_t)
    FAKE_CUDA_NAMED("cudaEventElapsedTime_v2");

cudaError_t fake_capture_info_1(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                unsigned long long* id) {
  return enter("cudaStreamGetCaptureInfo", [&](call& c) {
    capture_info(c, handle, status, id, nullptr, nullptr, nullptr, nullptr);
  });
}

cudaError_t fake_capture_info_2(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                unsigned long long* id, cudaGraph_t* graph_handle,
                                const cudaGraphNode_t** dependencies, size_t* count) {
  return enter("cudaStreamGetCaptureInfo_v2", [&](call& c) {
    capture_info(c, handle, status, id, graph_handle, dependencies, nullptr, count);
  });
}

cudaError_t fake_elapsed_2(float* ms, cudaEvent_t start, cudaEvent_t end) {
  return cudaEventElapsedTime(ms, start, end);
}
#endif

cudaError_t fake_properties(cudaDeviceProp* to, int index) {
  return properties(
      FAKE_CUDART_MAJOR >= 13 ? "cudaGetDeviceProperties" : "cudaGetDeviceProperties_v2", to,
      index);
}

cudaError_t fake_capture_info(cudaStream_t handle, cudaStreamCaptureStatus* status,
                              unsigned long long* id, cudaGraph_t* graph_handle,
                              const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                              size_t* count) {
  return enter(FAKE_CUDART_MAJOR >= 13 ? "cudaStreamGetCaptureInfo" : "cudaStreamGetCaptureInfo_v3",
               [&](call& c) {
                 capture_info(c, handle, status, id, graph_handle, dependencies, edges, count);
               });
}

}  // extern "C"
