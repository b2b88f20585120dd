#include "backend_template/core/memory/ipc.h"

#include <memory>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/runtime/format.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/stream.h"

namespace outback::core {
namespace {

const outback_ipc& ipc_group() {
  ensure_started();
  if (runtime().ipc == nullptr)
    refuse_absent("ipc", "sharing memory or events with other processes");
  return *runtime().ipc;
}

// Returns a handle for a slot to fill. `fd` is -1, none, in case the runtime leaves it out: 0 would
// be the standard input, and the owner of the handle would close that.
outback_ipc_handle handle_to_fill() noexcept {
  outback_ipc_handle handle{};
  handle.struct_size = sizeof handle;
  handle.fd = -1;
  return handle;
}

// Blames a runtime whose handle is not usable: the other process would read bytes that were never
// written, or close a descriptor that does not exist.
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

// The context of a DataPtr to another process's memory.
struct opened {
  c10::DeviceIndex device;
  void* data;
};

void close_memory(void* context) noexcept {
  const std::unique_ptr<opened> gone(static_cast<opened*>(context));
  // In a forked child the memory is the parent's to close.
  if (is_in_bad_fork()) return;
  const outback_runtime& table = runtime();
  // By the contract no work may use the memory while it is closed.
  outback_status status = table.device_sync(table.self, gone->device);
  if (status == OUTBACK_OK) {
    status = table.ipc->close_memory(table.self, gone->device, gone->data);
  }
  warn_of(status, "ipc.close_memory", gone->device);
}

}  // namespace

outback_ipc_handle ipc_handle_of(c10::DeviceIndex device, void* base) {
  const outback_ipc& ipc = ipc_group();
  const c10::DeviceIndex index = resolve_index(device);
  synchronize_device(index);
  outback_ipc_handle handle = handle_to_fill();
  check(ipc.get_memory(runtime().self, index, base, &handle), "ipc.get_memory", index);
  check_handle(handle, "ipc.get_memory", index);
  return handle;
}

c10::DataPtr open_ipc_memory(c10::DeviceIndex device, const outback_ipc_handle& handle) {
  const outback_ipc& ipc = ipc_group();
  const c10::DeviceIndex index = resolve_index(device);
  // Made before the slot, so that nothing can throw between the slot and the DataPtr that closes
  // it.
  auto held = std::make_unique<opened>(opened{index, nullptr});
  check(ipc.open_memory(runtime().self, index, &handle, &held->data), "ipc.open_memory", index);
  check_made(held->data, "ptr", "ipc.open_memory", index);
  void* const data = held->data;
  return c10::DataPtr(data, held.release(), &close_memory, c10::Device(device_type, index));
}

const outback_ipc_handle& ipc_handle_of(const event& shared) {
  const outback_ipc& ipc = ipc_group();
  if (shared.exported() != nullptr) return shared.exported()->handle;
  outback_ipc_handle handle = handle_to_fill();
  check(ipc.get_event(runtime().self, shared.device(), shared.handle(), &handle), "ipc.get_event",
        shared.device());
  check_handle(handle, "ipc.get_event", shared.device());
  // Kept in the event, which owns the descriptor from now on.
  shared.set_exported(std::make_unique<exported_event>(handle, descriptor(handle.fd)));
  return shared.exported()->handle;
}

event open_ipc_event(c10::DeviceIndex device, const outback_ipc_handle& handle) {
  const outback_ipc& ipc = ipc_group();
  const c10::DeviceIndex index = resolve_index(device);
  outback_event opened = nullptr;
  check(ipc.open_event(runtime().self, index, &handle, &opened), "ipc.open_event", index);
  check_made(opened, "event", "ipc.open_event", index);
  return event(OUTBACK_EVENT_INTERPROCESS, index, opened);
}

}  // namespace outback::core
