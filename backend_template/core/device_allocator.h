// The allocator behind every tensor of the device.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include "backend_template/core/device.h"

namespace outback::core {

/// The process's device allocator: caches by size class and stream. Leaked, tensors may outlive
/// main().
c10::DeviceAllocator& device_allocator();

/// Memory on `device`, whatever the current device is. Throws c10::OutOfMemoryError with a summary.
c10::DataPtr allocate_on(c10::DeviceIndex device, size_t size);

/// Turns memory that a CPU kernel allocated for its result into memory of `device`, without a copy:
/// it counts in the device's statistics and against its size, and goes back to its own deleter when
/// no stream of the device can be using it any more. Only where `addresses_host(device)`.
c10::DataPtr adopt(c10::DataPtr&& memory, size_t size, c10::DeviceIndex device);

/// Another owner of `memory`, which is freed when the last one goes; on `device`, which may be the
/// CPU. Empty for memory that is not of this allocator.
c10::DataPtr share_memory(const c10::DataPtr& memory, c10::Device device);

}  // namespace outback::core
