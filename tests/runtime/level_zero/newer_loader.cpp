// A loader of API 1.10, made of the one that the system has: that one's functions, which dlsym
// finds behind this library, and here those that came later, straight from the driver's tables. It
// does for one driver without layers, whose handles no loader wraps.
#include <dlfcn.h>
#include <level_zero/ze_ddi.h>

#include <cstdlib>

#include "tests/fakes/level_zero/newer_api.hpp"

namespace {

using namespace outback::software_ze;

/// Slot `number` of the table that the driver's `getter` fills; room for later slots behind it.
template <class Function>
Function* slot(const char* getter, std::size_t number) {
  void* const driver = dlopen(std::getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW);
  using fill = ze_result_t ZE_APICALL(uint32_t version, void** table);
  auto* const get = reinterpret_cast<fill*>(dlsym(driver, getter));
  void* table[64] = {};
  if (get == nullptr || get(api_version(1, 10), table) != ZE_RESULT_SUCCESS) return nullptr;
  return reinterpret_cast<Function*>(table[number]);
}

}  // namespace

#define OUTBACK_EXPORT extern "C" __attribute__((visibility("default")))

OUTBACK_EXPORT ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t list,
                                                        uint64_t timeout) {
  static auto* const call = slot<ze_result_t ZE_APICALL(ze_command_list_handle_t, uint64_t)>(
      "zeGetCommandListProcAddrTable", slot_list_host_synchronize);
  return call == nullptr ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE : call(list, timeout);
}

OUTBACK_EXPORT ze_result_t zeMemPutIpcHandle(ze_context_handle_t context,
                                             ze_ipc_mem_handle_t handle) {
  static auto* const call = slot<ze_result_t ZE_APICALL(ze_context_handle_t, ze_ipc_mem_handle_t)>(
      "zeGetMemProcAddrTable", slot_mem_put_ipc_handle);
  return call == nullptr ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE : call(context, handle);
}

// The older loader has to be initialised in its own way before its other functions are called.
// OUTBACK_TEST_ZE_INIT_DRIVERS is the answer where no driver knows this one, and lists none.
OUTBACK_EXPORT ze_result_t zeInitDrivers(uint32_t* count, ze_driver_handle_t* drivers,
                                         init_driver_type_desc* desc) {
  if (desc->flags != init_driver_type_gpu) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (const char* answer = std::getenv("OUTBACK_TEST_ZE_INIT_DRIVERS")) {
    *count = 0;
    return static_cast<ze_result_t>(std::strtoul(answer, nullptr, 0));
  }
  const ze_result_t result = zeInit(ZE_INIT_FLAG_GPU_ONLY);
  return result == ZE_RESULT_SUCCESS ? zeDriverGet(count, drivers) : result;
}

OUTBACK_EXPORT ze_result_t zeDeviceGetRootDevice(ze_device_handle_t device,
                                                 ze_device_handle_t* root) {
  static auto* const call = slot<ze_result_t ZE_APICALL(ze_device_handle_t, ze_device_handle_t*)>(
      "zeGetDeviceProcAddrTable", slot_device_get_root_device);
  return call == nullptr ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE : call(device, root);
}

// Sysman apart from the core.
OUTBACK_EXPORT ze_result_t zesInit(uint32_t flags) {
  static auto* const call = slot<ze_result_t ZE_APICALL(uint32_t)>("zesGetGlobalProcAddrTable", 0);
  return call == nullptr ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE : call(flags);
}

OUTBACK_EXPORT ze_result_t zesDriverGet(uint32_t* count, zes_driver_handle_t* drivers) {
  static auto* const call = slot<ze_result_t ZE_APICALL(uint32_t*, zes_driver_handle_t*)>(
      "zesGetDriverProcAddrTable", slot_sysman_driver_get);
  return call == nullptr ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE : call(count, drivers);
}

OUTBACK_EXPORT ze_result_t zesDeviceGet(zes_driver_handle_t driver, uint32_t* count,
                                        zes_device_handle_t* devices) {
  static auto* const call =
      slot<ze_result_t ZE_APICALL(zes_driver_handle_t, uint32_t*, zes_device_handle_t*)>(
          "zesGetDeviceProcAddrTable", slot_sysman_device_get);
  return call == nullptr ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE : call(driver, count, devices);
}

OUTBACK_EXPORT ze_result_t zesDriverGetDeviceByUuidExp(zes_driver_handle_t driver, sysman_uuid uuid,
                                                       zes_device_handle_t* device,
                                                       ze_bool_t* on_subdevice,
                                                       uint32_t* subdevice) {
  static auto* const call =
      slot<ze_result_t ZE_APICALL(zes_driver_handle_t, sysman_uuid, zes_device_handle_t*,
                                  ze_bool_t*, uint32_t*)>("zesGetDriverExpProcAddrTable", 0);
  return call == nullptr ? ZE_RESULT_ERROR_UNSUPPORTED_FEATURE
                         : call(driver, uuid, device, on_subdevice, subdevice);
}
