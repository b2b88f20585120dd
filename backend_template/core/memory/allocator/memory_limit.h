// How much of a device's memory this process may use: torch.<name>.set_per_process_memory_fraction.
// All functions are thread-safe.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>

namespace outback::core {

/// Limits the process to `fraction`, from 0 to 1, of the device's memory. Later allocations beyond
/// the limit fail; memory that is allocated already stays allocated. A negative index means the
/// current device. Throws c10::ValueError (ValueError) for a fraction outside that range, and what
/// check_index throws.
void set_memory_fraction(c10::DeviceIndex device, double fraction);
/// Returns the fraction: 1 unless set_memory_fraction changed it. `device` must be a valid index.
double memory_fraction(c10::DeviceIndex device) noexcept;

/// Returns the limit in bytes. Starts the backend, and throws what device_info throws.
size_t memory_limit(c10::DeviceIndex device);

}  // namespace outback::core
