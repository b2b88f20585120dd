// A device's own measurements: utilization, temperature, power, and the processes that use it.
// torch.<name>.utilization() and similar functions read them. Both functions start the backend, and
// take a negative index for the current device.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <vector>

#include "outback/runtime.h"

namespace outback::core {

/// Returns the present value of `metric`, an OUTBACK_METRIC_*, in the unit that outback/runtime.h
/// gives for it. Throws c10::NotImplementedError (NotImplementedError) if the device does not
/// measure this metric, or if the runtime does not have the group telemetry.
int64_t read_telemetry(c10::DeviceIndex device, outback_metric metric);

/// Returns the processes that use the device, as the driver lists them: at most 128, the capacity
/// of outback_processes. In a container, these process ids may differ from the ids inside the
/// container. Throws what `read_telemetry` throws.
std::vector<outback_process> read_processes(c10::DeviceIndex device);

}  // namespace outback::core
