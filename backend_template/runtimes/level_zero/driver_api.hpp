// The functions of the Level Zero loader, found at run time: nothing here links Level Zero.
// driver.hpp says which of them a driver supports.
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#include <string>

#include "backend_template/runtimes/level_zero/newer_api.hpp"
#include "backend_template/runtimes/library_function.hpp"

namespace outback::level_zero {

// Every loader has these: they are version 1.0 of the API.
#define OUTBACK_ZE_REQUIRED(X)               \
  X(zeInit)                                  \
  X(zeDriverGet)                             \
  X(zeDriverGetApiVersion)                   \
  X(zeDriverGetExtensionProperties)          \
  X(zeDeviceGet)                             \
  X(zeDeviceGetProperties)                   \
  X(zeDeviceGetComputeProperties)            \
  X(zeDeviceGetModuleProperties)             \
  X(zeDeviceGetMemoryProperties)             \
  X(zeDeviceGetMemoryAccessProperties)       \
  X(zeDeviceGetCommandQueueGroupProperties)  \
  X(zeDeviceCanAccessPeer)                   \
  X(zeDeviceGetStatus)                       \
  X(zeContextCreate)                         \
  X(zeContextMakeMemoryResident)             \
  X(zeContextEvictMemory)                    \
  X(zeMemAllocDevice)                        \
  X(zeMemAllocHost)                          \
  X(zeMemFree)                               \
  X(zeMemGetAllocProperties)                 \
  X(zeMemGetAddressRange)                    \
  X(zeMemGetIpcHandle)                       \
  X(zeMemOpenIpcHandle)                      \
  X(zeMemCloseIpcHandle)                     \
  X(zeCommandListCreateImmediate)            \
  X(zeCommandListDestroy)                    \
  X(zeCommandListAppendBarrier)              \
  X(zeCommandListAppendMemoryCopy)           \
  X(zeCommandListAppendMemoryFill)           \
  X(zeCommandListAppendWriteGlobalTimestamp) \
  X(zeCommandListAppendLaunchKernel)         \
  X(zeEventPoolCreate)                       \
  X(zeEventPoolDestroy)                      \
  X(zeEventCreate)                           \
  X(zeEventDestroy)                          \
  X(zeEventHostSignal)                       \
  X(zeEventHostSynchronize)                  \
  X(zeEventQueryStatus)                      \
  X(zeEventHostReset)                        \
  X(zeModuleCreate)                          \
  X(zeModuleDestroy)                         \
  X(zeModuleBuildLogGetString)               \
  X(zeModuleBuildLogDestroy)                 \
  X(zeKernelCreate)                          \
  X(zeKernelDestroy)                         \
  X(zeKernelGetProperties)                   \
  X(zeKernelSetIndirectAccess)               \
  X(zeKernelSetGroupSize)                    \
  X(zeKernelSetArgumentValue)

// Sysman and extensions. A function is null if the loader lacks it.
#define OUTBACK_ZE_OPTIONAL(X)       \
  X(zeDevicePciGetPropertiesExt)     \
  X(zesDeviceGetProperties)          \
  X(zesDeviceProcessesGetState)      \
  X(zesDeviceEnumMemoryModules)      \
  X(zesMemoryGetProperties)          \
  X(zesMemoryGetState)               \
  X(zesDeviceEnumEngineGroups)       \
  X(zesEngineGetProperties)          \
  X(zesEngineGetActivity)            \
  X(zesDeviceEnumTemperatureSensors) \
  X(zesTemperatureGetProperties)     \
  X(zesTemperatureGetState)          \
  X(zesDeviceEnumPowerDomains)       \
  X(zesPowerGetProperties)           \
  X(zesPowerGetEnergyCounter)        \
  X(zesDeviceEnumFrequencyDomains)   \
  X(zesFrequencyGetProperties)       \
  X(zesFrequencyGetState)

// Functions of API 1.5 to 1.10, and one of the loader's own; a function is null if the loader is
// older. A loader may have a function that its driver lacks: see driver.hpp.
#define OUTBACK_ZE_NEWER(X)                                             \
  X(zelLoaderTranslateHandle, newer::loader_translate_handle)           \
  X(zeCommandListHostSynchronize, newer::command_list_host_synchronize) \
  X(zeMemPutIpcHandle, newer::mem_put_ipc_handle)                       \
  X(zeInitDrivers, newer::init_drivers)                                 \
  X(zeDeviceGetRootDevice, newer::device_get_root_device)               \
  X(zesInit, newer::sysman_init)                                        \
  X(zesDriverGet, newer::sysman_driver_get)                             \
  X(zesDeviceGet, newer::sysman_device_get)                             \
  X(zesDriverGetDeviceByUuidExp, newer::sysman_device_by_uuid)

/// The functions. Each member has the name of the function that it points to.
struct driver_api {
#define OUTBACK_ZE_MEMBER(name) library_function<decltype(::name)> name{#name};
#define OUTBACK_ZE_NEWER_MEMBER(name, type) library_function<type> name{#name};
  OUTBACK_ZE_REQUIRED(OUTBACK_ZE_MEMBER)
  OUTBACK_ZE_OPTIONAL(OUTBACK_ZE_MEMBER)
  OUTBACK_ZE_NEWER(OUTBACK_ZE_NEWER_MEMBER)
#undef OUTBACK_ZE_MEMBER
#undef OUTBACK_ZE_NEWER_MEMBER
};

/// Opens `library` and fills `api`. Returns "", or the problem: the library cannot be opened, or
/// lacks a required function. Never closes the library.
std::string load(const std::string& library, driver_api& api);

}  // namespace outback::level_zero
