// The device guard: c10's interface to the current device, streams and events of a device type.
// torch.Stream, torch.Event and c10::DeviceGuard call it. Registration registers it; module/ uses
// this header to reach the events inside c10::Event.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdint>

#include "backend_template/core/streams/event.h"

namespace outback::core {

/// Returns a c10::Event that holds `made`, an event that exists on a device although it may never
/// have been recorded. Events of other processes need this function, since c10 itself only creates
/// new events, at their first recording. `flags` are the OUTBACK_EVENT_* of `made`.
c10::Event adopt_event(event made, uint32_t flags);

/// Returns the event inside `holder`, a c10::Event of this device type, or null before its first
/// recording. The pointer is valid as long as `holder` holds that event.
const event* event_in(const c10::Event& holder);

/// Returns the guard to register under PrivateUse1. It is never destroyed, since c10 uses it while
/// the process ends.
const c10::impl::DeviceGuardImplInterface& device_guard_impl();

}  // namespace outback::core
