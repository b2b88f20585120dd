// The memory slots of the Level Zero runtime: device memory and pinned host memory.
#include <cstdint>
#include <utility>

#include "backend_template/runtimes/level_zero/level_zero_runtime.hpp"
#include "backend_template/runtimes/level_zero/result.hpp"

namespace outback::level_zero {
namespace {

void* allocate_on(device& d, std::size_t size) {
  // Only passed for sizes above the plain limit, which a driver refuses without it.
  ze_relaxed_allocation_limits_exp_desc_t any_size = {};
  any_size.stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC;
  any_size.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE;
  ze_device_mem_alloc_desc_t desc = {};
  desc.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
  if (size > d.facts().largest_plain_alloc && d.of().has_relaxed_limits()) desc.pNext = &any_size;
  void* base = nullptr;
  call(d.of().api().zeMemAllocDevice, d.context(), &desc, size, memory_alignment, d.handle(),
       &base);
  return base;
}

}  // namespace

void* level_zero_runtime::mem_alloc(int32_t index, std::size_t size) {
  return on(index, [&](device& d) -> void* {
    if (size == 0) return nullptr;
    // Charged before the driver is asked, so that two threads cannot both take the last bytes.
    d.budget().take(size, d.facts().info.memory_size, index);
    void* base = nullptr;
    try {
      base = allocate_on(d, size);
      d.memory().add({.base = base, .size = size, .serial = next_serial()});
      make_resident(d, base, size);
      return base;
    } catch (...) {
      // Undone in reverse order. make_resident may have failed after the driver gave the memory.
      if (base != nullptr) {
        d.memory().take(base);
        d.of().api().zeMemFree(d.context(), base);
      }
      d.budget().give_back(size);
      throw;
    }
  });
}

void level_zero_runtime::mem_free(int32_t index, void* ptr) {
  on(index, [&](device& d) {
    if (ptr == nullptr) return;
    // Out of the books first: another thread may get the same address as soon as it is free.
    const auto taken = d.memory().take(ptr);
    if (!taken) {
      throw invalid_argument(
          "the pointer is not what mem_alloc answered for this device: freed already, of another "
          "device, or inside of an allocation");
    }
    const ze_result_t result = d.of().api().zeMemFree(d.context(), ptr);
    if (result != ZE_RESULT_SUCCESS) d.memory().add(*taken);
    check(result, "zeMemFree");
    d.budget().give_back(taken->size);
  });
}

void* level_zero_runtime::host_alloc(std::size_t size) {
  // Host memory belongs to no device, but the driver wants a context, and has one for all its
  // devices.
  return on(host_device().index(), [&](device& d) -> void* {
    if (size == 0) return nullptr;
    d.context();  // notes that the device is in use
    void* const place = d.of().alloc_pinned(size);
    try {
      pinned_.add({.base = place, .size = size, .of = &d.of()});
    } catch (...) {
      d.of().api().zeMemFree(d.context(), place);
      throw;
    }
    return place;
  });
}

void level_zero_runtime::host_free(void* ptr) {
  usable();
  if (ptr == nullptr) return;
  // Out of the books first: another thread may get the same address as soon as it is free.
  const auto taken = pinned_.take(ptr);
  if (!taken) {
    throw invalid_argument("the pointer is not what host_memory.alloc answered: freed already?");
  }
  const ze_result_t result = taken->of->api().zeMemFree(taken->of->context(), ptr);
  if (result != ZE_RESULT_SUCCESS) pinned_.add(*taken);
  check(result, "zeMemFree");
}

outback_pointer_info level_zero_runtime::host_info(const void* ptr) {
  outback_pointer_info info = {};
  info.device = OUTBACK_HOST;
  const platform& all = there();
  // A forked child must not call the driver, and the workers of data loaders ask.
  if (ptr == nullptr || all.devices().empty() || all.forked()) return info;
  for (const auto& each : all.drivers()) {
    const ze_context_handle_t context = each->context_if_any();
    // A driver without a context has given us no memory.
    if (context == nullptr) continue;
    ze_memory_allocation_properties_t properties = {};
    properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
    ze_device_handle_t owner = nullptr;
    call(each->api().zeMemGetAllocProperties, context, ptr, &properties, &owner);
    if (properties.type == ZE_MEMORY_TYPE_UNKNOWN) continue;
    const bool of_host = properties.type == ZE_MEMORY_TYPE_HOST || owner == nullptr;
    if (!of_host) info.device = all.index_of(owner);
    // Memory of a device that is not listed, such as a tile of one: the runtime does not know it.
    if (!of_host && info.device == OUTBACK_HOST) break;
    info.pinned = of_host ? 1 : 0;
    call(each->api().zeMemGetAddressRange, context, ptr, &info.base, &info.size);
    break;
  }
  return info;
}

bool level_zero_runtime::pinned(device& d, const void* ptr, std::size_t size) {
  ze_memory_allocation_properties_t properties = {};
  properties.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES;
  const driver_api& api = d.of().api();
  call(api.zeMemGetAllocProperties, d.context(), ptr, &properties, nullptr);
  // Any memory that the driver knows will do, shared memory too.
  if (properties.type == ZE_MEMORY_TYPE_UNKNOWN) return false;
  void* base = nullptr;
  std::size_t whole = 0;
  call(api.zeMemGetAddressRange, d.context(), ptr, &base, &whole);
  const auto offset = std::size_t(static_cast<const char*>(ptr) - static_cast<char*>(base));
  return offset <= whole && size <= whole - offset;
}

}  // namespace outback::level_zero
