// The runtime's group ipc, with torch's exceptions. Here is what both of its halves need, and
// events that processes share, for Python's Event.ipc_handle() and Event.from_ipc_handle();
// shared_memory.h has the memory.
//
// All functions but check_handle start the backend, and throw c10::NotImplementedError
// (NotImplementedError) if the runtime does not have the group ipc, and what `check` throws. A
// negative device index means the current device.
#pragma once

#include <c10/core/Device.h>

#include "backend_template/core/streams/event.h"
#include "outback/runtime.h"

namespace outback::core {

/// Returns the group. `what`, a noun phrase, is what the error calls absent without it.
const outback_ipc& ipc_group(const char* what);

/// Returns a handle for a slot to fill.
outback_ipc_handle empty_handle();

/// Blames the runtime if a handle that `slot` filled is not usable: the other process would read
/// bytes that were never written, or close a descriptor that does not exist.
void check_handle(const outback_ipc_handle& handle, const char* slot, c10::DeviceIndex device);

/// Returns a handle by which another process opens `shared`, an event that was made with
/// OUTBACK_EVENT_INTERPROCESS and created or recorded.
///
/// The first call makes the handle, and later calls return the same one. The event owns it, and its
/// descriptor if it has one; other processes may take the descriptor from this one
/// (runtime/descriptor.h) for as long as the event lives.
const outback_ipc_handle& ipc_handle_of(const event& shared);

/// Returns the event that another process exported, on `device`. Both processes see what either one
/// records. The handle's descriptor must be one of this process, and stays the caller's.
event open_ipc_event(c10::DeviceIndex device, const outback_ipc_handle& handle);

}  // namespace outback::core
