// zeInit, zeInitDrivers and zeDriver*.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/fakes/level_zero/answers.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace driver_entries {

ze_result_t init(ze_init_flags_t flags) {
  if (flags != 0 && (flags & ZE_INIT_FLAG_GPU_ONLY) == 0) return ZE_RESULT_ERROR_UNINITIALIZED;
  make_world();
  return ZE_RESULT_SUCCESS;
}

ze_result_t get(uint32_t* count, ze_driver_handle_t* drivers) {
  const std::vector handles{the_world().driver_handle};
  answer_list(handles, count, drivers, [](auto& into, auto handle) { into = handle; });
  return ZE_RESULT_SUCCESS;
}

ze_result_t init_drivers(uint32_t* count, ze_driver_handle_t* drivers,
                         init_driver_type_desc* desc) {
  require_pointer(desc);
  require((desc->flags & init_driver_type_gpu) != 0, ZE_RESULT_ERROR_UNINITIALIZED);
  make_world();
  return get(count, drivers);
}

ze_result_t get_api_version(ze_driver_handle_t driver, ze_api_version_t* version) {
  the_world().drivers.find(driver);
  require_pointer(version);
  *version = static_cast<ze_api_version_t>(the_options().api);
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_properties(ze_driver_handle_t driver, ze_driver_properties_t* properties) {
  the_world().drivers.find(driver);
  require_pointer(properties);
  clear(*properties);
  std::memcpy(properties->uuid.id, "outback-ze-drv", 14);
  properties->driverVersion = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_ipc_properties(ze_driver_handle_t driver, ze_driver_ipc_properties_t* properties) {
  the_world().drivers.find(driver);
  require_pointer(properties);
  properties->flags = ZE_IPC_PROPERTY_FLAG_MEMORY | ZE_IPC_PROPERTY_FLAG_EVENT_POOL;
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_extension_properties(ze_driver_handle_t driver, uint32_t* count,
                                     ze_driver_extension_properties_t* extensions) {
  the_world().drivers.find(driver);
  struct extension {
    const char* name;
    uint32_t since;  // version of the driver
  };
  std::vector<extension> served;
  for (const extension& one : {extension{"ZE_experimental_relaxed_allocation_limits", 1},
                               extension{"ZE_extension_memory_free_policies", 3},
                               extension{"ZE_extension_pci_properties", 3},
                               extension{"ZE_experimental_event_pool_counter_based", 8}}) {
    if (the_options().api >= api_version(1, one.since)) served.push_back(one);
  }
  answer_list(served, count, extensions, [](auto& into, const extension& one) {
    answer_text(into.name, one.name);
    into.version = api_version(1, 0);
  });
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_extension_function(ze_driver_handle_t driver, const char* name, void** address) {
  the_world().drivers.find(driver);
  require_pointer(name);
  require_pointer(address);
  return ZE_RESULT_ERROR_INVALID_ARGUMENT;  // there are none
}

}  // namespace driver_entries

bool serves(ze_api_version_t version, uint32_t needed) {
  if (static_cast<uint32_t>(version) < needed) return false;
  try {
    return options_from_environment().api >= needed;
  } catch (const std::exception&) {
    return false;  // zeInit will say what is wrong with the environment
  }
}

void serve_global(ze_global_dditable_t* table, ze_api_version_t version) {
  using namespace driver_entries;
  serve<"zeInit", init, in_child::allowed>(table->pfnInit);
  if (serves(version, api_version(1, 10))) {
    serve_newer<"zeInitDrivers", init_drivers, in_child::allowed>(table, slot_global_init_drivers);
  }
}

void serve_driver(ze_driver_dditable_t* table) {
  using namespace driver_entries;
  serve<"zeDriverGet", get, in_child::allowed>(table->pfnGet);
  serve<"zeDriverGetApiVersion", get_api_version, in_child::allowed>(table->pfnGetApiVersion);
  serve<"zeDriverGetProperties", get_properties, in_child::allowed>(table->pfnGetProperties);
  serve<"zeDriverGetIpcProperties", get_ipc_properties, in_child::allowed>(
      table->pfnGetIpcProperties);
  serve<"zeDriverGetExtensionProperties", get_extension_properties, in_child::allowed>(
      table->pfnGetExtensionProperties);
  serve<"zeDriverGetExtensionFunctionAddress", get_extension_function, in_child::allowed>(
      table->pfnGetExtensionFunctionAddress);
}

}  // namespace outback::software_ze
