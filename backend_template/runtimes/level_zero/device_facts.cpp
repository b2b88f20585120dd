// What the driver says of a device, asked once.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "backend_template/runtimes/level_zero/device.hpp"
#include "backend_template/runtimes/level_zero/result.hpp"

namespace outback::level_zero {
namespace {

template <class Properties, class F>
std::vector<Properties> listed_properties(const library_function<F>& list,
                                          ze_device_handle_t device, ze_structure_type_t stype) {
  Properties blank = {};
  blank.stype = stype;
  std::vector<Properties> all;
  check(list_all(all, [&](auto... to) { return list(device, to...); }, blank), list.name);
  return all;
}

void write_pci_id(const driver_api& api, ze_device_handle_t device, outback_device_info& info) {
  ze_pci_ext_properties_t pci = {};
  pci.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES;
  // The PCI address is an extension of the API. Without it the field stays empty.
  if (!api.zeDevicePciGetPropertiesExt ||
      api.zeDevicePciGetPropertiesExt(device, &pci) != ZE_RESULT_SUCCESS) {
    return;
  }
  std::snprintf(info.pci_id, sizeof(info.pci_id), "%04x:%02x:%02x.%x", pci.address.domain & 0xffff,
                pci.address.bus & 0xff, pci.address.device & 0x1f, pci.address.function & 0x7);
}

}  // namespace

const device_facts& device::facts() {
  if (const auto* there = facts_.load(std::memory_order_acquire)) return *there;
  const std::lock_guard lock(facts_mutex_);
  if (const auto* there = facts_.load(std::memory_order_relaxed)) return *there;

  const driver_api& api = driver_.api();
  auto found = std::make_unique<device_facts>();
  outback_device_info& info = found->info;

  ze_device_properties_t device = {};
  // The type of the structure decides the unit of timerResolution.
  device.stype = driver_.tells_clock_rate() ? ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2
                                            : ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  call(api.zeDeviceGetProperties, handle_, &device);
  found->clock =
      make_timer(device.timerResolution, driver_.tells_clock_rate(), device.timestampValidBits);
  if ((device.flags & ZE_DEVICE_PROPERTY_FLAG_INTEGRATED) != 0) info.flags |= OUTBACK_INTEGRATED;
  info.compute_units = device.numSlices * device.numSubslicesPerSlice * device.numEUsPerSubslice;
  static_assert(sizeof(info.uuid) == sizeof(device.uuid.id));
  std::memcpy(info.uuid, device.uuid.id, sizeof(info.uuid));
  std::snprintf(info.name, sizeof(info.name), "%.*s", int(sizeof(info.name)) - 1, device.name);
  write_pci_id(api, handle_, info);

  ze_device_compute_properties_t compute = {};
  compute.stype = ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES;
  call(api.zeDeviceGetComputeProperties, handle_, &compute);
  info.max_group_size = compute.maxTotalGroupSize;
  for (uint32_t i = 0; i < compute.numSubGroupSizes; ++i) {
    info.subgroup_size = std::max(info.subgroup_size, compute.subGroupSizes[i]);
  }

  found->most_groups = {compute.maxGroupCountX, compute.maxGroupCountY, compute.maxGroupCountZ};
  found->most_items = {compute.maxGroupSizeX, compute.maxGroupSizeY, compute.maxGroupSizeZ};
  found->most_local = compute.maxSharedLocalMemory;

  ze_device_module_properties_t modules = {};
  modules.stype = ZE_STRUCTURE_TYPE_DEVICE_MODULE_PROPERTIES;
  call(api.zeDeviceGetModuleProperties, handle_, &modules);
  found->newest_spirv = ZE_MAJOR_VERSION(modules.spirvVersionSupported) << 16 |
                        ZE_MINOR_VERSION(modules.spirvVersionSupported) << 8;
  // The API knows conversions of bfloat16 at most.
  info.flags |= OUTBACK_NO_BFLOAT16;
  const auto lacks = [&](uint32_t feature) { return (modules.flags & feature) == 0; };
  if (lacks(ZE_DEVICE_MODULE_FLAG_FP64)) info.flags |= OUTBACK_NO_FLOAT64;
  if (lacks(ZE_DEVICE_MODULE_FLAG_FP16)) info.flags |= OUTBACK_NO_FLOAT16;
  if (lacks(ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS)) info.flags |= OUTBACK_NO_INT64_ATOMICS;

  ze_device_memory_access_properties_t access = {};
  access.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES;
  call(api.zeDeviceGetMemoryAccessProperties, handle_, &access);
  // "Shared system" is the API's word for memory from malloc.
  if ((access.sharedSystemAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW) != 0) {
    info.flags |= OUTBACK_ADDRESSES_HOST;
  }

  const auto memories = listed_properties<ze_device_memory_properties_t>(
      api.zeDeviceGetMemoryProperties, handle_, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
  // Only memory of the first kind counts, because mem_alloc takes that. A kernel that meets more
  // than 4 GiB in one allocation has to be compiled for it.
  info.memory_size = memories.empty() ? device.maxMemAllocSize : memories.front().totalSize;
  found->largest_plain_alloc = device.maxMemAllocSize;
  info.max_alloc_size = driver_.has_relaxed_limits()
                            ? info.memory_size
                            : std::min(info.memory_size, device.maxMemAllocSize);
  info.alignment = memory_alignment;

  const auto groups = listed_properties<ze_command_queue_group_properties_t>(
      api.zeDeviceGetCommandQueueGroupProperties, handle_,
      ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES);
  const auto computing = std::find_if(groups.begin(), groups.end(), [](const auto& group) {
    return (group.flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) != 0;
  });
  // Kernels need a group that computes, and copies can use it as well.
  const auto chosen = computing != groups.end() ? computing : groups.begin();
  if (chosen != groups.end()) {
    found->ordinal = uint32_t(chosen - groups.begin());
    found->queues = std::max(chosen->numQueues, 1u);
    // Patterns have a power of two as their length.
    found->longest_pattern =
        std::bit_floor(std::max<std::size_t>(chosen->maxMemoryFillPatternSize, 1));
  }
  // Leaked on purpose, like the device.
  facts_.store(found.get(), std::memory_order_release);
  return *found.release();
}

}  // namespace outback::level_zero
