// zeCommandList*: the lists themselves.
#include <memory>

#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace list_entries {

// Older drivers take the flag, like any bit they do not know, and pay no attention to it.
bool keeps_order(uint32_t flags, uint32_t flag) {
  return (flags & flag) != 0 && the_options().api >= api_version(1, 7);
}

ze_result_t create(ze_context_handle_t handle, ze_device_handle_t device_handle,
                   const ze_command_list_desc_t* desc, ze_command_list_handle_t* made) {
  const auto of = the_world().contexts.find(handle);
  const auto on = the_world().devices.find(device_handle);
  require_pointer(desc);
  require_pointer(made);
  on->require_present();
  check_queue_group(desc->commandQueueGroupOrdinal);
  *made = the_world().lists.add(
      std::make_shared<command_list>(of, on, desc->commandQueueGroupOrdinal,
                                     keeps_order(desc->flags, list_in_order), false, false));
  return ZE_RESULT_SUCCESS;
}

ze_result_t create_immediate(ze_context_handle_t handle, ze_device_handle_t device_handle,
                             const ze_command_queue_desc_t* desc, ze_command_list_handle_t* made) {
  const auto of = the_world().contexts.find(handle);
  const auto on = the_world().devices.find(device_handle);
  require_pointer(desc);
  require_pointer(made);
  on->require_present();
  check_queue(*desc);
  *made = the_world().lists.add(std::make_shared<command_list>(
      of, on, desc->ordinal, keeps_order(desc->flags, queue_in_order),
      desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS, true));
  return ZE_RESULT_SUCCESS;
}

ze_result_t destroy(ze_command_list_handle_t handle) {
  const auto taken = the_world().lists.take(handle);
  if (taken->busy()) report_violation("the command list is destroyed while the device works on it");
  return ZE_RESULT_SUCCESS;
}

ze_result_t close(ze_command_list_handle_t handle) {
  the_world().lists.find(handle)->close();
  return ZE_RESULT_SUCCESS;
}

ze_result_t reset(ze_command_list_handle_t handle) {
  the_world().lists.find(handle)->reset();
  return ZE_RESULT_SUCCESS;
}

ze_result_t host_synchronize(ze_command_list_handle_t handle, uint64_t timeout) {
  return the_world().lists.find(handle)->wait(timeout);
}

}  // namespace list_entries

void serve_command_list(ze_command_list_dditable_t* table, ze_api_version_t version) {
  using namespace list_entries;
  serve<"zeCommandListCreate", create>(table->pfnCreate);
  serve<"zeCommandListCreateImmediate", create_immediate>(table->pfnCreateImmediate);
  serve<"zeCommandListDestroy", destroy>(table->pfnDestroy);
  serve<"zeCommandListClose", close>(table->pfnClose);
  serve<"zeCommandListReset", reset>(table->pfnReset);
  if (serves(version, api_version(1, 6))) {
    serve_newer<"zeCommandListHostSynchronize", host_synchronize, in_child::waits>(
        table, slot_list_host_synchronize);
  }
}

}  // namespace outback::software_ze
