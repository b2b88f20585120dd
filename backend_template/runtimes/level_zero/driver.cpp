#include "backend_template/runtimes/level_zero/driver.hpp"

#include <cstring>

#include "backend_template/runtimes/level_zero/result.hpp"

namespace outback::level_zero {

driver::driver(const driver_api& api, ze_driver_handle_t handle, const level_zero_options& options)
    : api_(api), handle_(handle) {
  ze_api_version_t version = {};
  call(api.zeDriverGetApiVersion, handle, &version);
  version_ = static_cast<uint32_t>(version);
  relaxed_ = has_extension(ZE_RELAXED_ALLOCATION_LIMITS_EXP_NAME);
  // A function counts only if the loader exports it and the driver is new enough: a loader passes
  // the call on to a driver that may not have it.
  list_sync_ = api.zeCommandListHostSynchronize && version_ >= newer::api_version(1, 6);
  put_handles_ = api.zeMemPutIpcHandle && version_ >= newer::api_version(1, 6);
  // The validation layer of an old loader refuses flags that it does not know. A loader that has
  // zeInitDrivers (API 1.10) knows all that are used here.
  const bool flags_pass = !options.old_flags || api.zeInitDrivers;
  in_order_ = options.in_order && flags_pass && version_ >= newer::api_version(1, 7);
  counter_based_ = in_order_ && version_ >= newer::api_version(1, 8);
}

bool driver::has_extension(const char* name) const {
  std::vector<ze_driver_extension_properties_t> all;
  const auto& list = api_.zeDriverGetExtensionProperties;
  check(list_all(all, [&](auto... to) { return list(handle_, to...); }), list.name);
  for (const auto& each : all) {
    if (std::strncmp(each.name, name, sizeof(each.name)) == 0) return true;
  }
  return false;
}

std::vector<ze_device_handle_t> driver::gpus() const {
  std::vector<ze_device_handle_t> all;
  check(list_all(all, [&](auto... to) { return api_.zeDeviceGet(handle_, to...); }),
        api_.zeDeviceGet.name);
  std::erase_if(all, [&](ze_device_handle_t each) {
    ze_device_properties_t properties = {};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    call(api_.zeDeviceGetProperties, each, &properties);
    return properties.type != ZE_DEVICE_TYPE_GPU;
  });
  return all;
}

void* driver::alloc_pinned(std::size_t size) {
  const ze_host_mem_alloc_desc_t desc = {ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
  void* made = nullptr;
  call(api_.zeMemAllocHost, context(), &desc, size, std::size_t{memory_alignment}, &made);
  return made;
}

ze_context_handle_t driver::context() {
  if (const auto there = context_if_any()) return there;
  const std::lock_guard lock(mutex_);
  if (const auto there = context_if_any()) return there;
  const ze_context_desc_t desc = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
  ze_context_handle_t made = nullptr;
  call(api_.zeContextCreate, handle_, &desc, &made);
  context_.store(made, std::memory_order_release);
  return made;
}

}  // namespace outback::level_zero
