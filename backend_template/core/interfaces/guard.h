// What c10 asks of a device type: current device, streams, events.
#pragma once

#include <c10/core/Event.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdint>

#include "backend_template/core/streams/event.h"

namespace outback::core {

/// A c10::Event that holds `made`, which has a device, though nothing was recorded. `flags`:
/// OUTBACK_EVENT_*, as it was made with.
c10::Event adopt_event(event made, uint32_t flags);

/// What an event of this device holds: null before its first recording.
const event* event_in(const c10::Event& holder);

/// The guard to register under PrivateUse1. Leaked: c10 uses it while the process ends.
const c10::impl::DeviceGuardImplInterface& device_guard_impl();

}  // namespace outback::core
