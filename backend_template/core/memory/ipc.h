// The runtime's group ipc, with torch's exceptions. This header has the functions that shared
// memory and shared events both need, and the events, for Python's Event.ipc_handle() and
// Event.from_ipc_handle(). shared_memory.h has the memory.
//
// All functions but check_handle start the backend, and throw c10::NotImplementedError
// (NotImplementedError) if the runtime does not have the group ipc, and what `check` throws. A
// negative device index means the current device.
#pragma once

#include <c10/core/Device.h>

#include "backend_template/core/streams/event.h"
#include "outback/runtime.h"

namespace outback::core {

/// Returns the group. `what`, a noun phrase, names the missing feature in the error text.
const outback_ipc& ipc_group(const char* what);

/// Returns a handle for a slot to fill.
outback_ipc_handle empty_handle();

/// Blames the runtime if a handle that `slot` filled is not usable: the other process would read
/// bytes that were never written, or close a descriptor that does not exist.
void check_handle(const outback_ipc_handle& handle, const char* slot, c10::DeviceIndex device);

/// Returns a handle with which another process opens `shared`, an event with
/// OUTBACK_EVENT_INTERPROCESS on which `create` or `record` was called.
///
/// The first call makes the handle, and later calls return the same one. The event owns the handle,
/// and its descriptor if it has one. While the event lives, other processes may take the descriptor
/// from this process (runtime/descriptor.h).
const outback_ipc_handle& ipc_handle_of(const event& shared);

/// Returns the event that another process exported, on `device`. Each process sees the recordings
/// of the other. The handle's descriptor, if any, must belong to this process; the caller still
/// owns it.
event open_ipc_event(c10::DeviceIndex device, const outback_ipc_handle& handle);

}  // namespace outback::core
