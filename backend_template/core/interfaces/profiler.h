// What torch's profiler asks of the device: events around operators, for their time on it.
#pragma once

namespace outback::core {

/// Gives torch's profiler this device's clock, once per process. Starts nothing.
void register_profiler();

}  // namespace outback::core
