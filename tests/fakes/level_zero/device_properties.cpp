// zeDeviceGet*Properties: a small GPU with memory of its own.
#include <limits>
#include <vector>

#include "tests/fakes/level_zero/answers.hpp"
#include "tests/fakes/level_zero/clock.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace device_properties {

ze_result_t get_properties(ze_device_handle_t handle, ze_device_properties_t* properties) {
  const auto found = the_world().devices.find(handle);
  require_pointer(properties);
  clear(*properties);
  properties->type = ZE_DEVICE_TYPE_GPU;
  properties->vendorId = 0x8086;
  properties->deviceId = 0x0b00;
  if (found->parent()) properties->flags = ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE;
  properties->subdeviceId = found->tile().value_or(0);
  properties->coreClockRate = 1000;
  properties->maxMemAllocSize = found->max_alloc();
  properties->maxHardwareContexts = 65536;
  properties->maxCommandQueuePriority = 0;
  properties->numThreadsPerEU = 8;
  properties->physicalEUSimdWidth = 8;
  properties->numEUsPerSubslice = 8;
  properties->numSubslicesPerSlice = 2;
  properties->numSlices = 1;
  // The structure's type says the unit: source ze_api.h, ze_device_properties_t::timerResolution.
  properties->timerResolution = properties->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2
                                    ? clock_hertz
                                    : clock_resolution_ns;
  properties->timestampValidBits = the_options().timer_bits;
  properties->kernelTimestampValidBits = kernel_timestamp_bits;
  properties->uuid = found->uuid();
  answer_text(properties->name, found->name());
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_compute_properties(ze_device_handle_t handle,
                                   ze_device_compute_properties_t* properties) {
  the_world().devices.find(handle);
  require_pointer(properties);
  clear(*properties);
  properties->maxTotalGroupSize = max_group_size;
  properties->maxGroupSizeX = properties->maxGroupSizeY = properties->maxGroupSizeZ =
      max_group_size;
  properties->maxGroupCountX = properties->maxGroupCountY = properties->maxGroupCountZ = UINT32_MAX;
  properties->maxSharedLocalMemory = max_local_memory;
  properties->numSubGroupSizes = 2;
  properties->subGroupSizes[0] = 16;
  properties->subGroupSizes[1] = 32;
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_module_properties(ze_device_handle_t handle,
                                  ze_device_module_properties_t* properties) {
  the_world().devices.find(handle);
  require_pointer(properties);
  clear(*properties);
  properties->spirvVersionSupported = api_version(1, 2);
  properties->flags = the_options().module_flags;
  properties->fp32flags = properties->fp64flags =
      ZE_DEVICE_FP_FLAG_DENORM | ZE_DEVICE_FP_FLAG_INF_NAN | ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST;
  properties->maxArgumentsSize = 2048;
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_queue_groups(ze_device_handle_t handle, uint32_t* count,
                             ze_command_queue_group_properties_t* groups) {
  the_world().devices.find(handle);
  const driver_options& options = the_options();
  ze_command_queue_group_properties_t compute{}, copy{};
  compute.flags =
      ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
  compute.maxMemoryFillPatternSize = options.fill_pattern;
  compute.numQueues = options.queues;
  copy.flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
  copy.maxMemoryFillPatternSize = 1;
  copy.numQueues = 1;
  std::vector served{compute};
  if (options.copy_group) served.push_back(copy);
  answer_list(served, count, groups, [](auto& into, const auto& from) {
    into.flags = from.flags;
    into.maxMemoryFillPatternSize = from.maxMemoryFillPatternSize;
    into.numQueues = from.numQueues;
  });
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_memory_properties(ze_device_handle_t handle, uint32_t* count,
                                  ze_device_memory_properties_t* memories) {
  const std::vector found{the_world().devices.find(handle)};
  answer_list(found, count, memories, [](auto& into, const auto& from) {
    clear(into);
    into.maxClockRate = 1000;
    into.maxBusWidth = 64;
    into.totalSize = from->memory();
    answer_text(into.name, "DDR");
  });
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_memory_access(ze_device_handle_t handle,
                              ze_device_memory_access_properties_t* properties) {
  the_world().devices.find(handle);
  require_pointer(properties);
  clear(*properties);
  properties->hostAllocCapabilities = properties->deviceAllocCapabilities =
      properties->sharedSingleDeviceAllocCapabilities =
          ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC;
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_cache_properties(ze_device_handle_t handle, uint32_t* count,
                                 ze_device_cache_properties_t* caches) {
  the_world().devices.find(handle);
  const std::vector<std::size_t> sizes{4u << 20};
  answer_list(sizes, count, caches, [](auto& into, std::size_t size) { into.cacheSize = size; });
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_image_properties(ze_device_handle_t handle,
                                 ze_device_image_properties_t* properties) {
  the_world().devices.find(handle);
  require_pointer(properties);
  clear(*properties);  // there are no images
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_external_memory(ze_device_handle_t handle,
                                ze_device_external_memory_properties_t* properties) {
  the_world().devices.find(handle);
  require_pointer(properties);
  clear(*properties);  // nothing is imported or exported, but by IPC
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_pci(ze_device_handle_t handle, ze_pci_ext_properties_t* properties) {
  const auto found = the_world().devices.find(handle);
  require_pointer(properties);
  clear(*properties);
  properties->address = {0, found->bus(), 0, 0};
  properties->maxSpeed = {4, 16, 31'500'000'000};
  return ZE_RESULT_SUCCESS;
}

}  // namespace device_properties

void serve_device_properties(ze_device_dditable_t* table) {
  using namespace device_properties;
  serve<"zeDeviceGetProperties", get_properties, in_child::allowed>(table->pfnGetProperties);
  serve<"zeDeviceGetComputeProperties", get_compute_properties, in_child::allowed>(
      table->pfnGetComputeProperties);
  serve<"zeDeviceGetModuleProperties", get_module_properties, in_child::allowed>(
      table->pfnGetModuleProperties);
  serve<"zeDeviceGetCommandQueueGroupProperties", get_queue_groups, in_child::allowed>(
      table->pfnGetCommandQueueGroupProperties);
  serve<"zeDeviceGetMemoryProperties", get_memory_properties, in_child::allowed>(
      table->pfnGetMemoryProperties);
  serve<"zeDeviceGetMemoryAccessProperties", get_memory_access, in_child::allowed>(
      table->pfnGetMemoryAccessProperties);
  serve<"zeDeviceGetCacheProperties", get_cache_properties, in_child::allowed>(
      table->pfnGetCacheProperties);
  serve<"zeDeviceGetImageProperties", get_image_properties, in_child::allowed>(
      table->pfnGetImageProperties);
  serve<"zeDeviceGetExternalMemoryProperties", get_external_memory, in_child::allowed>(
      table->pfnGetExternalMemoryProperties);
  serve<"zeDevicePciGetPropertiesExt", get_pci, in_child::allowed>(table->pfnPciGetPropertiesExt);
}

}  // namespace outback::software_ze
