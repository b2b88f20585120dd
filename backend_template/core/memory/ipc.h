// Device memory and events that another process made.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

#include "backend_template/core/streams/event.h"
#include "outback/runtime.h"

namespace outback::core {

/// A handle to the allocation of the runtime that begins at `base`, for another process. Its
/// descriptor, where it has one, is the caller's to close. Waits for the device first: no work may
/// use the memory meanwhile. Throws c10::NotImplementedError without the runtime's group ipc.
outback_ipc_handle ipc_handle_of(c10::DeviceIndex device, void* base);

/// The same bytes here, until the result is gone; then the device has been waited for. The result
/// counts in no statistics: the memory is another process's.
c10::DataPtr open_ipc_memory(c10::DeviceIndex device, const outback_ipc_handle& handle);

/// A handle to `shared`, made with OUTBACK_EVENT_INTERPROCESS and created, for another process.
/// Made once: it is the event's, and so is its descriptor, where it has one. Other processes may
/// take that from this one (core/descriptor.h) as long as the event is there.
const outback_ipc_handle& ipc_handle_of(const event& shared);

/// That event here, on `device`: what either process records, both see. The handle's descriptor is
/// one of this process, and stays the caller's.
event open_ipc_event(c10::DeviceIndex device, const outback_ipc_handle& handle);

}  // namespace outback::core
