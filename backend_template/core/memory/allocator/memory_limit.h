// How much of a device this process may use.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>

namespace outback::core {

/// `fraction`, from 0 to 1, of the device's memory. What is more already stays. Thread-safe.
void set_memory_fraction(c10::DeviceIndex device, double fraction);
double memory_fraction(c10::DeviceIndex device) noexcept;

/// Bytes that this process may use on the device. Starts the backend.
size_t memory_limit(c10::DeviceIndex device);

}  // namespace outback::core
