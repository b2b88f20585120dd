#include "backend_template/core/memory/ipc.h"

#include <memory>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/runtime.h"

namespace outback::core {

const outback_ipc& ipc_group(const char* what) {
  ensure_started();
  if (runtime().ipc == nullptr) refuse_absent("ipc", what);
  return *runtime().ipc;
}

outback_ipc_handle empty_handle() {
  outback_ipc_handle handle{};
  handle.struct_size = sizeof handle;
  handle.fd = -1;  // in case the runtime leaves it out: the owner would close 0, the standard input
  return handle;
}

void check_handle(const outback_ipc_handle& handle, const char* slot, c10::DeviceIndex device) {
  if (handle.size == 0 && handle.fd == -1) {
    blame("answered ok and made *handle empty: expected bytes or a descriptor", slot, device);
  }
  if (handle.size > sizeof handle.bytes) {
    blame(core::format("made a handle of {} bytes, and there is room for {}", handle.size,
                       sizeof handle.bytes),
          slot, device);
  }
  if (handle.fd < -1) {
    blame(core::format("made a handle with the descriptor {}", handle.fd), slot, device);
  }
}

const outback_ipc_handle& ipc_handle_of(const event& shared) {
  constexpr const char* slot = "ipc.get_event";
  const outback_ipc& ipc = ipc_group("sharing events with other processes");
  if (shared.exported() != nullptr) return shared.exported()->handle;
  outback_ipc_handle handle = empty_handle();
  check(ipc.get_event(runtime().self, shared.device(), shared.handle(), &handle), slot,
        shared.device());
  check_handle(handle, slot, shared.device());
  // Kept in the event, which owns the descriptor from now on.
  shared.set_exported(std::make_unique<exported_event>(handle, descriptor(handle.fd)));
  return shared.exported()->handle;
}

event open_ipc_event(c10::DeviceIndex device, const outback_ipc_handle& handle) {
  const outback_ipc& ipc = ipc_group("sharing events with other processes");
  const c10::DeviceIndex index = resolve_index(device);
  outback_event opened = nullptr;
  check(ipc.open_event(runtime().self, index, &handle, &opened), "ipc.open_event", index);
  check_made(opened, "event", "ipc.open_event", index);
  return event(OUTBACK_EVENT_INTERPROCESS, index, opened);
}

}  // namespace outback::core
