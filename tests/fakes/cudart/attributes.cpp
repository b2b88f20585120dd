#include "tests/fakes/cudart/attributes.hpp"

#include <fmt/format.h>

namespace fake_cuda {

// The figures are an H100's, as far as they matter to nobody.
int attribute(const machine& m, const device& of, int which) {
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY:
      return 1024;
    case cudaDevAttrMaxBlockDimZ:
      return 64;
    case cudaDevAttrMaxGridDimX:
      return 2147483647;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return 49152;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return 232448;
    case cudaDevAttrWarpSize:
      return 32;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return 2048;
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return 32;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return 65536;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return 233472;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return 1024;
    case cudaDevAttrTotalConstantMemory:
      return 65536;
    case cudaDevAttrGlobalMemoryBusWidth:
      return 5120;
    case cudaDevAttrMaxPersistingL2CacheSize:
      return 32768000;
    case cudaDevAttrMaxPitch:
      return 2147483647;
    case cudaDevAttrTexturePitchAlignment:
      return 32;
    case cudaDevAttrSurfaceAlignment:
      return 512;
    case cudaDevAttrMultiProcessorCount:
      return of.described.instance < 0 ? 132 : 16;
    case cudaDevAttrClockRate:
      return 1980000;
    case cudaDevAttrMemoryClockRate:
      return 2619000;
    case cudaDevAttrTextureAlignment:
      return int(arena::alignment);
    case cudaDevAttrAsyncEngineCount:
      return 3;
    case cudaDevAttrGpuOverlap:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrClusterLaunch:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrIpcEventSupport:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
      return 1;
    case cudaDevAttrIntegrated:
    case cudaDevAttrKernelExecTimeout:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrTccDriver:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId:
    case cudaDevAttrComputeMode:
      return 0;
    case cudaDevAttrPciBusId:
      return of.described.pci_bus;
    case cudaDevAttrComputeCapabilityMajor:
      return m.given.capability_major;
    case cudaDevAttrComputeCapabilityMinor:
      return m.given.capability_minor;
    case cudaDevAttrL2CacheSize:
      return 52428800;
    default:
      throw refusal(cudaErrorInvalidValue, fmt::format("attribute {} is not modelled", which));
  }
}

}  // namespace fake_cuda
