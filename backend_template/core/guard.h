// What c10 asks of a device type: current device, streams, events.
#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace outback::core {

/// The guard to register under PrivateUse1. Leaked: c10 uses it while the process ends.
const c10::impl::DeviceGuardImplInterface& device_guard_impl();

}  // namespace outback::core
