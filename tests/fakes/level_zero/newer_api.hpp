// What came after spec 1.4, whose headers Debian 12 has: the slots, flags and structures that this
// driver knows of later versions. Newer headers declare them too, under other names, so that either
// compile.
//
// Source: https://github.com/oneapi-src/level-zero, include/ze_api.h and ze_ddi.h. Tables only ever
// grow at the end, so a later slot is a number: how many slots the table had before.
#pragma once

#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>

#include <cstddef>
#include <cstdint>

namespace outback::software_ze {

// 1.5: Sysman apart from the core: zesInit, zesDriverGet, zesDeviceGet.
struct sysman_global_table {
  ze_result_t(ZE_APICALL* pfnInit)(uint32_t flags);
};
inline constexpr std::size_t slot_sysman_driver_get = 2, slot_sysman_device_get = 29;
static_assert(sizeof(zes_driver_dditable_t) >= slot_sysman_driver_get * sizeof(void*));
static_assert(sizeof(zes_device_dditable_t) >= slot_sysman_device_get * sizeof(void*));

// 1.6: zeCommandListHostSynchronize, zeMemPutIpcHandle, zeEventPoolPutIpcHandle.
inline constexpr std::size_t slot_list_host_synchronize = 28;
inline constexpr std::size_t slot_mem_put_ipc_handle = 10;
inline constexpr std::size_t slot_event_pool_put_ipc_handle = 5;
static_assert(sizeof(ze_command_list_dditable_t) >= slot_list_host_synchronize * sizeof(void*));
static_assert(sizeof(ze_mem_dditable_t) >= slot_mem_put_ipc_handle * sizeof(void*));
static_assert(sizeof(ze_event_pool_dditable_t) >= slot_event_pool_put_ipc_handle * sizeof(void*));

// 1.7: lists that keep their order, zeDeviceGetRootDevice, ZE_FLAT_DEVICE_HIERARCHY.
inline constexpr ze_command_queue_flags_t queue_in_order = 1u << 1;
inline constexpr ze_command_list_flags_t list_in_order = 1u << 3;
inline constexpr std::size_t slot_device_get_root_device = 18;
static_assert(sizeof(ze_device_dditable_t) >= slot_device_get_root_device * sizeof(void*));

// 1.8: pools of counter-based events, asked for by a structure behind ze_event_pool_desc_t.
inline constexpr uint32_t stype_counter_based_event_pool = 0x00020014;
enum : uint32_t { counter_based_immediate = 1u, counter_based_non_immediate = 2u };
struct counter_based_event_pool_desc {
  ze_structure_type_t stype;
  const void* pNext;
  uint32_t flags;  // 0: immediate
};

// 1.9: zesDriverGetDeviceByUuidExp.
struct sysman_uuid {
  uint8_t id[ZE_MAX_DEVICE_UUID_SIZE];
};
struct sysman_driver_exp_table {
  ze_result_t(ZE_APICALL* pfnGetDeviceByUuidExp)(zes_driver_handle_t driver, sysman_uuid uuid,
                                                 zes_device_handle_t* device,
                                                 ze_bool_t* on_subdevice, uint32_t* subdevice);
};

// 1.10: zeInitDrivers.
inline constexpr std::size_t slot_global_init_drivers = 1;
static_assert(sizeof(ze_global_dditable_t) >= slot_global_init_drivers * sizeof(void*));
inline constexpr uint32_t stype_init_driver_type_desc = 0x00020021;
inline constexpr uint32_t init_driver_type_gpu = 1u;
struct init_driver_type_desc {
  ze_structure_type_t stype;
  const void* pNext;
  uint32_t flags;
};

constexpr uint32_t api_version(uint32_t major, uint32_t minor) {
  return major << 16 | minor;
}

}  // namespace outback::software_ze
