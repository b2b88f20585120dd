// What a device measures of itself.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <vector>

#include "outback/runtime.h"

namespace outback::core {

/// The value of `metric`, in the unit that outback/runtime.h gives it. Throws
/// c10::NotImplementedError for what the device does not measure, and without the runtime's group
/// telemetry.
int64_t read_telemetry(c10::DeviceIndex device, outback_metric metric);

/// The processes that use the device, as the driver tells. Throws as `read_telemetry`.
std::vector<outback_process> read_processes(c10::DeviceIndex device);

}  // namespace outback::core
