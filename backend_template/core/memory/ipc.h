// Device memory and events that processes share: the runtime's group ipc, with torch's exceptions.
// Python's Event.ipc_handle() and Event.from_ipc_handle() use the functions for events. Those for
// memory are for C++; no Python function calls them.
//
// All functions start the backend, and throw c10::NotImplementedError (NotImplementedError) if the
// runtime does not have the group ipc, and what `check` throws. A negative device index means the
// current device.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

#include "backend_template/core/streams/event.h"
#include "outback/runtime.h"

namespace outback::core {

/// Returns a handle by which another process opens the runtime's allocation that begins at `base`.
/// The caller owns the handle's descriptor, if it has one (`fd` is not -1), and closes it.
///
/// Waits for the device first, since no work may use the memory during the slot. The handle is good
/// until the allocation is freed.
outback_ipc_handle ipc_handle_of(c10::DeviceIndex device, void* base);

/// Returns the memory that another process exported, at an address of this process. The memory
/// stays open until the DataPtr dies, which waits for the device first. It counts in no statistics,
/// since it is the other process's. The handle's descriptor stays the caller's.
c10::DataPtr open_ipc_memory(c10::DeviceIndex device, const outback_ipc_handle& handle);

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
