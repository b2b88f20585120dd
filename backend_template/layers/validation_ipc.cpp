// Validation's rules for memory and events that processes share.
#include <string>

#include "backend_template/layers/validation.hpp"

namespace outback::layers {

void validation::check(slots::ipc_get_memory, int32_t device, void* ptr, outback_ipc_handle*) {
  const auto found = objects_.find(ptr, device);
  const bool begins =
      found && found->from == origin::allocated && found->begin == reinterpret_cast<uintptr_t>(ptr);
  if (!begins) refuse_memory(slots::ipc_get_memory::name, ptr, device, origin::allocated);
}

void validation::check(slots::ipc_get_event, int32_t device, outback_event event,
                       outback_ipc_handle*) {
  const auto found = objects_.find(event_kind, event, device);
  if (!found) return;  // another thread destroyed it; the runtime will refuse the call
  if ((found->state & OUTBACK_EVENT_INTERPROCESS) != 0) return;
  refuse(slots::ipc_get_event::name, "event",
         address_text(event) + ", created with flags " + std::to_string(found->state),
         "one created with OUTBACK_EVENT_INTERPROCESS");
}

void validation::check_made(const char* slot, const outback_ipc_handle& handle) {
  if (handle.size > sizeof(handle.bytes)) {
    blame(slot, "made a handle of " + bytes_text(handle.size) + ", and there is room for " +
                    std::to_string(sizeof(handle.bytes)));
  }
  if (handle.fd < -1) blame(slot, "made a handle with the descriptor " + std::to_string(handle.fd));
}

void validation::receive(slots::ipc_get_memory, int32_t, void*, outback_ipc_handle* handle) {
  check_made(slots::ipc_get_memory::name, *handle);
}

void validation::receive(slots::ipc_get_event, int32_t, outback_event, outback_ipc_handle* handle) {
  check_made(slots::ipc_get_event::name, *handle);
}

// An opened event counts as one with the flag INTERPROCESS alone, since an event with TIMING cannot
// be shared.
void validation::receive(slots::ipc_open_event, int32_t device, const outback_ipc_handle*,
                         outback_event* event) {
  objects_.set(event_kind, *event, device, OUTBACK_EVENT_INTERPROCESS, "opened event");
}

void validation::receive(slots::ipc_open_memory, int32_t device, const outback_ipc_handle*,
                         void** opened) {
  void* ptr = *opened;
  if (ptr == nullptr) blame(slots::ipc_open_memory::name, "answered ok and made *ptr null");
  // No slot says how large opened memory is, but host_memory.info may. Without it the size stays 0,
  // unknown, and only the beginning of a range is checked.
  const outback_runtime& table = devices_.runtime();
  std::size_t size = 0;
  outback_pointer_info info = {};
  info.struct_size = sizeof(info);
  const bool told = table.host_memory != nullptr &&
                    table.host_memory->info(table.self, ptr, &info) == OUTBACK_OK &&
                    info.device == device && info.base != nullptr;
  if (told) {
    const auto offset = reinterpret_cast<uintptr_t>(ptr) - reinterpret_cast<uintptr_t>(info.base);
    size = offset < info.size ? info.size - offset : 0;
  }
  objects_.open(ptr, size, device);
}

void validation::give_more(slots::ipc_close_memory, giving& given, int32_t device, void* ptr) {
  given.memory = take_memory(slots::ipc_close_memory::name, ptr, device, origin::opened);
}

}  // namespace outback::layers
