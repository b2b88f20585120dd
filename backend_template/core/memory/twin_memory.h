// Memory of a device's twin (core/twin/twin.h) as memory of ours.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>

#include <cstddef>

namespace outback::core {

/// Turns `memory`, `size` bytes that the twin of `device` allocated, into memory of `device`, without
/// a copy. It goes back to its own deleter when the last owner is gone; share_memory
/// (device_allocator.h) makes further owners of it. Thread-safe.
c10::DataPtr adopt_twin_memory(c10::DataPtr&& memory, std::size_t size, c10::Device device);

}  // namespace outback::core
