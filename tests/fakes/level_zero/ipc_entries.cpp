// zeMem*IpcHandle: device memory that several processes see.
#include <fcntl.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "tests/fakes/level_zero/entry_points.hpp"
#include "tests/fakes/level_zero/ipc_handle.hpp"
#include "tests/fakes/level_zero/serve.hpp"
#include "tests/fakes/level_zero/violations.hpp"
#include "tests/fakes/level_zero/world.hpp"

namespace outback::software_ze {
namespace ipc_entries {

ze_result_t get(ze_context_handle_t handle, const void* pointer, ze_ipc_mem_handle_t* made) {
  the_world().contexts.find(handle);
  require_pointer(pointer);
  require_pointer(made);
  const auto found = the_world().memory.find(pointer);
  require(found && found->type == ZE_MEMORY_TYPE_DEVICE && !found->imported,
          ZE_RESULT_ERROR_INVALID_ARGUMENT);
  const std::lock_guard lock(found->ipc_mutex);
  if (found->ipc_file < 0) {
    found->ipc_file = ::fcntl(found->from.file(), F_DUPFD_CLOEXEC, 0);
    require(found->ipc_file >= 0, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  }
  ipc_handle shared{};
  shared.file = found->ipc_file;
  shared.magic = ipc_handle::memory_magic;
  shared.offset = found->from.offset(found->base);
  shared.size = found->size;
  shared.room = found->room;
  write_ipc(shared, *made);
  return ZE_RESULT_SUCCESS;
}

// The descriptor goes; before 1.6 it stays until the memory is freed.
ze_result_t put(ze_context_handle_t handle, ze_ipc_mem_handle_t given) {
  the_world().contexts.find(handle);
  const ipc_handle shared = read_ipc(given, ipc_handle::memory_magic);
  for (const auto& one : the_world().memory.all()) {
    const std::lock_guard lock(one->ipc_mutex);
    if (one->ipc_file != shared.file || one->ipc_file < 0) continue;
    ::close(std::exchange(one->ipc_file, -1));
    return ZE_RESULT_SUCCESS;
  }
  refuse_violation("the IPC handle was put back already, or its memory was freed");
}

ze_result_t open(ze_context_handle_t handle, ze_device_handle_t device_handle,
                 ze_ipc_mem_handle_t given, ze_ipc_memory_flags_t, void** made) {
  auto of = the_world().contexts.find(handle);
  auto on = the_world().devices.find(device_handle);
  require_pointer(made);
  on->require_present();
  const ipc_handle shared = read_ipc(given, ipc_handle::memory_magic);
  arena& from = the_world().device_arena;
  std::byte* base = from.take(shared.room, device_page);
  require(base != nullptr, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  if (!from.map_foreign(base, shared.room, shared.file, shared.offset)) {
    from.give_foreign(base, shared.room);
    refuse_violation("the IPC handle's descriptor is not open here: was it passed, and put in?");
  }
  the_world().memory.add(std::make_shared<allocation>(from, base, shared.size, shared.room,
                                                      ZE_MEMORY_TYPE_DEVICE, std::move(of),
                                                      std::move(on), true));
  *made = base;
  return ZE_RESULT_SUCCESS;
}

ze_result_t close(ze_context_handle_t handle, const void* pointer) {
  const auto of = the_world().contexts.find(handle);
  require_pointer(pointer);
  const auto taken = the_world().memory.take(pointer, *of, true);
  if (taken->uses.load() > 0) report_violation("memory of another process is closed while in use");
  return ZE_RESULT_SUCCESS;
}

}  // namespace ipc_entries

void serve_ipc_memory(ze_mem_dditable_t* table, ze_api_version_t version) {
  using namespace ipc_entries;
  serve<"zeMemGetIpcHandle", get>(table->pfnGetIpcHandle);
  serve<"zeMemOpenIpcHandle", open>(table->pfnOpenIpcHandle);
  serve<"zeMemCloseIpcHandle", close>(table->pfnCloseIpcHandle);
  if (serves(version, api_version(1, 6))) {
    serve_newer<"zeMemPutIpcHandle", put>(table, slot_mem_put_ipc_handle);
  }
}

}  // namespace outback::software_ze
