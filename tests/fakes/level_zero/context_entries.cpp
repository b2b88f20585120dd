// zeContext*.
#include <fmt/format.h>

#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace context_entries {

ze_result_t create(ze_driver_handle_t driver, const ze_context_desc_t* desc,
                   ze_context_handle_t* made) {
  the_world().drivers.find(driver);
  require_pointer(desc);
  require_pointer(made);
  *made = the_world().contexts.add(std::make_shared<context>());
  return ZE_RESULT_SUCCESS;
}

ze_result_t create_ex(ze_driver_handle_t driver, const ze_context_desc_t* desc, uint32_t count,
                      ze_device_handle_t* devices, ze_context_handle_t* made) {
  require(count == 0 || devices, ZE_RESULT_ERROR_INVALID_SIZE);
  for (uint32_t i = 0; i < count; ++i) the_world().devices.find(devices[i]);
  return create(driver, desc, made);
}

ze_result_t destroy(ze_context_handle_t handle) {
  const auto taken = the_world().contexts.take(handle);
  if (const int64_t left = taken->members.load()) {
    report_violation(
        fmt::format("{} of its allocations, event pools, lists and queues live", left));
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_status(ze_context_handle_t handle) {
  the_world().contexts.find(handle);
  for (const auto& one : the_world().listed) one->require_present();
  return ZE_RESULT_SUCCESS;
}

ze_result_t system_barrier(ze_context_handle_t handle, ze_device_handle_t on) {
  the_world().contexts.find(handle);
  the_world().devices.find(on)->require_present();
  return ZE_RESULT_SUCCESS;
}

// All memory is resident always; that the range is an allocation is checked.
ze_result_t change_residency(ze_context_handle_t handle, ze_device_handle_t on, void* pointer,
                             size_t size) {
  const auto of = the_world().contexts.find(handle);
  const auto user = the_world().devices.find(on);
  require(size > 0, ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  user->require_present();
  the_world().memory.resolve(pointer, size, *user, *of);
  return ZE_RESULT_SUCCESS;
}

}  // namespace context_entries

void serve_context(ze_context_dditable_t* table) {
  using namespace context_entries;
  serve<"zeContextCreate", create>(table->pfnCreate);
  serve<"zeContextCreateEx", create_ex>(table->pfnCreateEx);
  serve<"zeContextDestroy", destroy>(table->pfnDestroy);
  serve<"zeContextGetStatus", get_status>(table->pfnGetStatus);
  serve<"zeContextSystemBarrier", system_barrier>(table->pfnSystemBarrier);
  serve<"zeContextMakeMemoryResident", change_residency>(table->pfnMakeMemoryResident);
  serve<"zeContextEvictMemory", change_residency>(table->pfnEvictMemory);
  serve_nothing<"zeContextMakeImageResident">(table->pfnMakeImageResident);
  serve_nothing<"zeContextEvictImage">(table->pfnEvictImage);
}

}  // namespace outback::software_ze
