// What the driver has not got: each of these answers ZE_RESULT_ERROR_UNSUPPORTED_FEATURE.
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"

namespace outback::software_ze {

void serve_no_image(ze_image_dditable_t* table) {
  serve_nothing<"zeImageGetProperties">(table->pfnGetProperties);
  serve_nothing<"zeImageCreate">(table->pfnCreate);
  serve_nothing<"zeImageDestroy">(table->pfnDestroy);
  serve_nothing<"zeImageGetAllocPropertiesExt">(table->pfnGetAllocPropertiesExt);
}

void serve_no_sampler(ze_sampler_dditable_t* table) {
  serve_nothing<"zeSamplerCreate">(table->pfnCreate);
  serve_nothing<"zeSamplerDestroy">(table->pfnDestroy);
}

void serve_no_physical_memory(ze_physical_mem_dditable_t* table) {
  serve_nothing<"zePhysicalMemCreate">(table->pfnCreate);
  serve_nothing<"zePhysicalMemDestroy">(table->pfnDestroy);
}

void serve_no_virtual_memory(ze_virtual_mem_dditable_t* table) {
  serve_nothing<"zeVirtualMemReserve">(table->pfnReserve);
  serve_nothing<"zeVirtualMemFree">(table->pfnFree);
  serve_nothing<"zeVirtualMemQueryPageSize">(table->pfnQueryPageSize);
  serve_nothing<"zeVirtualMemMap">(table->pfnMap);
  serve_nothing<"zeVirtualMemUnmap">(table->pfnUnmap);
  serve_nothing<"zeVirtualMemSetAccessAttribute">(table->pfnSetAccessAttribute);
  serve_nothing<"zeVirtualMemGetAccessAttribute">(table->pfnGetAccessAttribute);
}

void serve_no_other_appends(ze_command_list_dditable_t* table) {
  serve_nothing<"zeCommandListAppendLaunchCooperativeKernel">(
      table->pfnAppendLaunchCooperativeKernel);
  serve_nothing<"zeCommandListAppendLaunchKernelIndirect">(table->pfnAppendLaunchKernelIndirect);
  serve_nothing<"zeCommandListAppendLaunchMultipleKernelsIndirect">(
      table->pfnAppendLaunchMultipleKernelsIndirect);
  serve_nothing<"zeCommandListAppendImageCopy">(table->pfnAppendImageCopy);
  serve_nothing<"zeCommandListAppendImageCopyRegion">(table->pfnAppendImageCopyRegion);
  serve_nothing<"zeCommandListAppendImageCopyToMemory">(table->pfnAppendImageCopyToMemory);
  serve_nothing<"zeCommandListAppendImageCopyFromMemory">(table->pfnAppendImageCopyFromMemory);
  serve_nothing<"zeCommandListAppendImageCopyToMemoryExt">(table->pfnAppendImageCopyToMemoryExt);
  serve_nothing<"zeCommandListAppendImageCopyFromMemoryExt">(
      table->pfnAppendImageCopyFromMemoryExt);
}

}  // namespace outback::software_ze
