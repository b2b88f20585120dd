// zeEventPool*.
#include <fcntl.h>
#include <fmt/format.h>

#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "tests/fakes/level_zero/answers.hpp"
#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/ipc_handle.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace pool_entries {

// Drivers before 1.8 pass over the structure, as over any that they do not know: the events have to
// be reset.
uint32_t counter_based_kinds(const ze_event_pool_desc_t& desc) {
  const auto* asked =
      find_extension<counter_based_event_pool_desc>(desc.pNext, stype_counter_based_event_pool);
  if (!asked || the_options().api < api_version(1, 8)) return 0;
  return asked->flags ? asked->flags : uint32_t{counter_based_immediate};
}

ze_result_t create(ze_context_handle_t handle, const ze_event_pool_desc_t* desc, uint32_t count,
                   ze_device_handle_t* devices, ze_event_pool_handle_t* made) {
  const auto of = the_world().contexts.find(handle);
  require_pointer(desc);
  require_pointer(made);
  require(desc->count > 0, ZE_RESULT_ERROR_INVALID_SIZE);
  require(count == 0 || devices, ZE_RESULT_ERROR_INVALID_SIZE);
  std::vector<std::shared_ptr<device>> on = the_world().listed;
  if (count > 0) on.clear();
  for (uint32_t i = 0; i < count; ++i) {
    on.push_back(the_world().devices.find(devices[i]));
    on.back()->require_present();
  }
  const uint32_t counters = counter_based_kinds(*desc);
  // Source: the counter-based event pool extension of the specification.
  require(!counters || !(desc->flags & ZE_EVENT_POOL_FLAG_IPC), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  *made = the_world().pools.add(
      std::make_shared<event_pool>(of, std::move(on), desc->flags, desc->count, counters));
  return ZE_RESULT_SUCCESS;
}

std::shared_ptr<event_pool> take(ze_event_pool_handle_t handle, bool opened) {
  auto taken = the_world().pools.take(handle);
  if (taken->opened != opened) {
    report_violation(opened ? "the event pool was not opened from another process"
                            : "the event pool is another process's: close it instead");
  }
  if (const uint32_t left = taken->places_taken()) {
    report_violation(fmt::format("{} events of the pool live", left));
  }
  return taken;
}

ze_result_t destroy(ze_event_pool_handle_t handle) {
  take(handle, false);
  return ZE_RESULT_SUCCESS;
}

ze_result_t get_ipc(ze_event_pool_handle_t handle, ze_ipc_event_pool_handle_t* made) {
  const auto pool = the_world().pools.find(handle);
  require_pointer(made);
  require((pool->flags & ZE_EVENT_POOL_FLAG_IPC) && !pool->opened,
          ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ipc_handle shared{};
  shared.file = pool->file();  // open for as long as the pool lives
  shared.magic = ipc_handle::pool_magic;
  shared.count = pool->count;
  shared.flags = pool->flags;
  write_ipc(shared, *made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t put_ipc(ze_context_handle_t handle, ze_ipc_event_pool_handle_t given) {
  the_world().contexts.find(handle);
  read_ipc(given, ipc_handle::pool_magic);
  return ZE_RESULT_SUCCESS;
}

ze_result_t open_ipc(ze_context_handle_t handle, ze_ipc_event_pool_handle_t given,
                     ze_event_pool_handle_t* made) {
  const auto of = the_world().contexts.find(handle);
  require_pointer(made);
  const ipc_handle shared = read_ipc(given, ipc_handle::pool_magic);
  const int file = ::fcntl(shared.file, F_DUPFD_CLOEXEC, 0);
  if (file < 0) {
    refuse_violation("the IPC handle's descriptor is not open here: was it passed, and put in?");
  }
  *made = the_world().pools.add(
      std::make_shared<event_pool>(of, the_world().listed, shared.flags, shared.count, 0, file));
  return ZE_RESULT_SUCCESS;
}

ze_result_t close_ipc(ze_event_pool_handle_t handle) {
  take(handle, true);
  return ZE_RESULT_SUCCESS;
}

}  // namespace pool_entries

void serve_event_pool(ze_event_pool_dditable_t* table, ze_api_version_t version) {
  using namespace pool_entries;
  serve<"zeEventPoolCreate", create>(table->pfnCreate);
  serve<"zeEventPoolDestroy", destroy>(table->pfnDestroy);
  serve<"zeEventPoolGetIpcHandle", get_ipc>(table->pfnGetIpcHandle);
  serve<"zeEventPoolOpenIpcHandle", open_ipc>(table->pfnOpenIpcHandle);
  serve<"zeEventPoolCloseIpcHandle", close_ipc>(table->pfnCloseIpcHandle);
  if (serves(version, api_version(1, 6))) {
    serve_newer<"zeEventPoolPutIpcHandle", put_ipc>(table, slot_event_pool_put_ipc_handle);
  }
}

}  // namespace outback::software_ze
