// The parts of Level Zero above version 1.4 that this runtime uses. Debian 12 has headers of 1.4,
// so this file declares the newer parts, under other names so that newer headers compile too.
//
// Source: https://github.com/oneapi-src/level-zero, include/ze_api.h and zes_api.h.
#pragma once

#include <level_zero/zes_api.h>

#include <cstdint>

namespace outback::level_zero::newer {

/// Returns the number of an API version, like ZE_MAKE_VERSION.
constexpr uint32_t api_version(uint32_t major, uint32_t minor) {
  return major << 16 | minor;
}

// Of the loader, not of the API: returns the driver's handle for one of the loader's. The two are
// the same unless the loader has put itself between, as it does for several drivers.
inline constexpr int handle_of_device = 1;
using loader_translate_handle = ze_result_t ZE_APICALL(int type, void* given, void** translated);

// 1.5: zesInit, which initialises Sysman separately from the core, whatever the environment says;
// Sysman's drivers and devices.
using sysman_init = ze_result_t ZE_APICALL(uint32_t flags);
using sysman_driver_get = ze_result_t ZE_APICALL(uint32_t* count, zes_driver_handle_t* drivers);
using sysman_device_get = ze_result_t ZE_APICALL(zes_driver_handle_t driver, uint32_t* count,
                                                 zes_device_handle_t* devices);

// 1.6: a call that waits for all commands of a list, and a call that gives an interprocess handle
// back.
using command_list_host_synchronize = ze_result_t ZE_APICALL(ze_command_list_handle_t list,
                                                             uint64_t timeout);
using mem_put_ipc_handle = ze_result_t ZE_APICALL(ze_context_handle_t context,
                                                  ze_ipc_mem_handle_t handle);

// 1.7: ZE_COMMAND_QUEUE_FLAG_IN_ORDER, which makes a list keep its order; and a call that returns
// the card of a tile, null for a card.
inline constexpr uint32_t queue_in_order = 1u << 1;
using device_get_root_device = ze_result_t ZE_APICALL(ze_device_handle_t device,
                                                      ze_device_handle_t* root);

// 1.8: ze_event_pool_counter_based_exp_desc_t. Counter-based events count how far a list has come,
// and need no reset.
inline constexpr auto counter_based_event_pool = static_cast<ze_structure_type_t>(0x00020014);
inline constexpr uint32_t counter_based_immediate = 1u;
struct counter_based_event_pool_desc {
  ze_structure_type_t stype;
  const void* pNext;
  uint32_t flags;
};

// 1.9: zes_uuid_t, and a call that returns Sysman's device for a device of the core and, for a
// tile, the number of the tile on its card.
struct sysman_uuid {
  uint8_t id[ZE_MAX_DEVICE_UUID_SIZE];
};
using sysman_device_by_uuid = ze_result_t ZE_APICALL(zes_driver_handle_t driver, sysman_uuid uuid,
                                                     zes_device_handle_t* device,
                                                     ze_bool_t* is_part, uint32_t* part);

// 1.10: ze_init_driver_type_desc_t, the argument of zeInitDrivers, which replaces zeInit.
inline constexpr auto init_driver_type = static_cast<ze_structure_type_t>(0x00020021);
inline constexpr uint32_t init_driver_type_gpu = 1u;
struct init_driver_type_desc {
  ze_structure_type_t stype;
  const void* pNext;
  uint32_t flags;
};
using init_drivers = ze_result_t ZE_APICALL(uint32_t* count, ze_driver_handle_t* drivers,
                                            init_driver_type_desc* desc);

}  // namespace outback::level_zero::newer
