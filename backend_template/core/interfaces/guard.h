// The device guard: what c10 asks of a device type, which is its current device, streams and
// events. torch.Stream, torch.Event and c10::DeviceGuard end here. Registration registers it;
// module/ reaches the events inside c10::Event through this header.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdint>

#include "backend_template/core/streams/event.h"

namespace outback::core {

/// Returns a c10::Event that holds `made`, an event that exists on a device although it may never
/// have been recorded. c10 creates an event at its first recording and has no way to take one over;
/// events of other processes need that. `flags` are the OUTBACK_EVENT_* that it was made with.
c10::Event adopt_event(event made, uint32_t flags);

/// Returns the event inside `holder`, a c10::Event of this device type, or null before its first
/// recording. The pointer is valid as long as `holder` holds that event.
const event* event_in(const c10::Event& holder);

/// Returns the guard to register under PrivateUse1. It is never destroyed, since c10 uses it while
/// the process ends.
const c10::impl::DeviceGuardImplInterface& device_guard_impl();

}  // namespace outback::core
