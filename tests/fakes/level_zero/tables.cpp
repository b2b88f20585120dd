// What the library exports to the loader: a function for each table. Debian's loader wants all of
// these 46, and gives ZE_RESULT_ERROR_UNSUPPORTED_FEATURE for slots that stay null.
#include <level_zero/zet_ddi.h>

#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"

namespace outback::software_ze {
namespace {

/// Answers the loader: `fill(table)` if the versions go together.
template <class Table, class Fill>
ze_result_t answer(ze_api_version_t version, Table* table, Fill fill) noexcept {
  if (!table) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (ZE_MAJOR_VERSION(version) != 1) return ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
  fill(table, version);
  return ZE_RESULT_SUCCESS;
}

}  // namespace
}  // namespace outback::software_ze

#define OUTBACK_ZE_EXPORT extern "C" __attribute__((visibility("default"))) ze_result_t ZE_APICALL

// The table `type`, filled by the rest, which sees `table` and `version`.
#define OUTBACK_ZE_TABLE(name, type, ...)                                                       \
  OUTBACK_ZE_EXPORT name(ze_api_version_t version_, type* table_) {                             \
    using namespace outback::software_ze;                                                       \
    return answer(version_, table_,                                                             \
                  [](type* table, [[maybe_unused]] ze_api_version_t version) { __VA_ARGS__; }); \
  }

// A table of which nothing is served.
#define OUTBACK_ZE_EMPTY_TABLE(name, type) OUTBACK_ZE_TABLE(name, type, (void)table)

OUTBACK_ZE_TABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t, serve_global(table, version))
OUTBACK_ZE_TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t, serve_driver(table))
OUTBACK_ZE_TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t, serve_device(table, version),
                 serve_device_properties(table))
OUTBACK_ZE_TABLE(zeGetContextProcAddrTable, ze_context_dditable_t, serve_context(table))
OUTBACK_ZE_TABLE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t,
                 serve_command_queue(table))
OUTBACK_ZE_TABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t,
                 serve_command_list(table, version), serve_appends(table), serve_copies(table),
                 serve_launches(table), serve_no_other_appends(table))
OUTBACK_ZE_TABLE(zeGetImageProcAddrTable, ze_image_dditable_t, serve_no_image(table))
OUTBACK_ZE_TABLE(zeGetFenceProcAddrTable, ze_fence_dditable_t, serve_fence(table))
OUTBACK_ZE_TABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t,
                 serve_event_pool(table, version))
OUTBACK_ZE_TABLE(zeGetEventProcAddrTable, ze_event_dditable_t, serve_event(table))
OUTBACK_ZE_TABLE(zeGetModuleProcAddrTable, ze_module_dditable_t, serve_module(table))
OUTBACK_ZE_TABLE(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t,
                 serve_build_log(table))
OUTBACK_ZE_TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t, serve_kernel(table))
OUTBACK_ZE_TABLE(zeGetSamplerProcAddrTable, ze_sampler_dditable_t, serve_no_sampler(table))
OUTBACK_ZE_TABLE(zeGetPhysicalMemProcAddrTable, ze_physical_mem_dditable_t,
                 serve_no_physical_memory(table))
OUTBACK_ZE_TABLE(zeGetMemProcAddrTable, ze_mem_dditable_t, serve_memory(table),
                 serve_ipc_memory(table, version))
OUTBACK_ZE_TABLE(zeGetVirtualMemProcAddrTable, ze_virtual_mem_dditable_t,
                 serve_no_virtual_memory(table))

OUTBACK_ZE_EMPTY_TABLE(zetGetDeviceProcAddrTable, zet_device_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zetGetContextProcAddrTable, zet_context_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zetGetCommandListProcAddrTable, zet_command_list_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zetGetModuleProcAddrTable, zet_module_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zetGetKernelProcAddrTable, zet_kernel_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zetGetMetricGroupProcAddrTable, zet_metric_group_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zetGetMetricProcAddrTable, zet_metric_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zetGetMetricStreamerProcAddrTable, zet_metric_streamer_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zetGetMetricQueryPoolProcAddrTable, zet_metric_query_pool_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zetGetMetricQueryProcAddrTable, zet_metric_query_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zetGetTracerExpProcAddrTable, zet_tracer_exp_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zetGetDebugProcAddrTable, zet_debug_dditable_t)

OUTBACK_ZE_TABLE(zesGetDeviceProcAddrTable, zes_device_dditable_t,
                 serve_sysman_device(table, version))
OUTBACK_ZE_TABLE(zesGetMemoryProcAddrTable, zes_memory_dditable_t, serve_sysman_memory(table))
OUTBACK_ZE_TABLE(zesGetTemperatureProcAddrTable, zes_temperature_dditable_t,
                 serve_sysman_temperature(table))
OUTBACK_ZE_TABLE(zesGetPowerProcAddrTable, zes_power_dditable_t, serve_sysman_power(table))
OUTBACK_ZE_TABLE(zesGetFrequencyProcAddrTable, zes_frequency_dditable_t,
                 serve_sysman_frequency(table))
OUTBACK_ZE_TABLE(zesGetEngineProcAddrTable, zes_engine_dditable_t, serve_sysman_engine(table))
OUTBACK_ZE_TABLE(zesGetDriverProcAddrTable, zes_driver_dditable_t,
                 serve_sysman_driver(table, version))
OUTBACK_ZE_EMPTY_TABLE(zesGetSchedulerProcAddrTable, zes_scheduler_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zesGetPerformanceFactorProcAddrTable, zes_performance_factor_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zesGetStandbyProcAddrTable, zes_standby_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zesGetFirmwareProcAddrTable, zes_firmware_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zesGetFabricPortProcAddrTable, zes_fabric_port_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zesGetPsuProcAddrTable, zes_psu_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zesGetFanProcAddrTable, zes_fan_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zesGetLedProcAddrTable, zes_led_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zesGetRasProcAddrTable, zes_ras_dditable_t)
OUTBACK_ZE_EMPTY_TABLE(zesGetDiagnosticsProcAddrTable, zes_diagnostics_dditable_t)

// Tables that came after 1.4. Newer headers declare these functions with types of their own, so
// they get their names in the library only.
#define OUTBACK_ZE_NEWER_TABLE(name, type, ...)                                      \
  OUTBACK_ZE_EXPORT newer_##name(ze_api_version_t version_,                          \
                                 outback::software_ze::type* table_) __asm__(#name); \
  OUTBACK_ZE_TABLE(newer_##name, outback::software_ze::type, __VA_ARGS__)

OUTBACK_ZE_NEWER_TABLE(zesGetGlobalProcAddrTable, sysman_global_table,
                       serve_sysman_global(table, version))
OUTBACK_ZE_NEWER_TABLE(zesGetDriverExpProcAddrTable, sysman_driver_exp_table,
                       serve_sysman_driver_exp(table, version))
