// The functions that fill the tables, one for each family of entry points; tables.cpp exports them.
#pragma once

#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>

#include "tests/fakes/level_zero/newer_api.hpp"

namespace outback::software_ze {

/// Whether the table has room for what `needed` brought, and the driver is of that version:
/// `version` is what the loader says, before the driver may be initialised.
bool serves(ze_api_version_t version, uint32_t needed);

void serve_global(ze_global_dditable_t* table, ze_api_version_t version);
void serve_driver(ze_driver_dditable_t* table);
void serve_device(ze_device_dditable_t* table, ze_api_version_t version);
void serve_device_properties(ze_device_dditable_t* table);
void serve_context(ze_context_dditable_t* table);
void serve_command_queue(ze_command_queue_dditable_t* table);
void serve_command_list(ze_command_list_dditable_t* table, ze_api_version_t version);
void serve_appends(ze_command_list_dditable_t* table);
void serve_copies(ze_command_list_dditable_t* table);
void serve_fence(ze_fence_dditable_t* table);
void serve_event_pool(ze_event_pool_dditable_t* table, ze_api_version_t version);
void serve_event(ze_event_dditable_t* table);
void serve_memory(ze_mem_dditable_t* table);
void serve_ipc_memory(ze_mem_dditable_t* table, ze_api_version_t version);

void serve_module(ze_module_dditable_t* table);
void serve_build_log(ze_module_build_log_dditable_t* table);
void serve_kernel(ze_kernel_dditable_t* table);
void serve_launches(ze_command_list_dditable_t* table);

// What there is not: images, samplers, virtual memory, other launches.
void serve_no_image(ze_image_dditable_t* table);
void serve_no_sampler(ze_sampler_dditable_t* table);
void serve_no_physical_memory(ze_physical_mem_dditable_t* table);
void serve_no_virtual_memory(ze_virtual_mem_dditable_t* table);
void serve_no_other_appends(ze_command_list_dditable_t* table);

void serve_sysman_global(sysman_global_table* table, ze_api_version_t version);
void serve_sysman_driver(zes_driver_dditable_t* table, ze_api_version_t version);
void serve_sysman_driver_exp(sysman_driver_exp_table* table, ze_api_version_t version);
void serve_sysman_device(zes_device_dditable_t* table, ze_api_version_t version);
void serve_sysman_memory(zes_memory_dditable_t* table);
void serve_sysman_temperature(zes_temperature_dditable_t* table);
void serve_sysman_power(zes_power_dditable_t* table);
void serve_sysman_frequency(zes_frequency_dditable_t* table);
void serve_sysman_engine(zes_engine_dditable_t* table);

}  // namespace outback::software_ze
