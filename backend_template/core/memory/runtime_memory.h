// The slots that allocate and free memory, with every answer of the runtime checked before its
// first use. The allocators of core call these functions, not the slots. All functions are
// thread-safe.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>

#include "outback/runtime.h"

namespace outback::core {

/// Calls the slot mem_alloc for `size` bytes, more than 0, and returns its status. `*data` is set
/// only for OUTBACK_OK.
///
/// With OUTBACK_OK the memory is aligned as the device's properties say, and overlaps no memory
/// that is still allocated. For any other answer it throws what `blame` throws. It gives misaligned
/// memory back first, but not overlapping memory, since that would free memory in use.
outback_status allocate_device_memory(c10::DeviceIndex device, size_t size, void** data);
/// Calls the slot mem_free and returns its status. The caller makes sure that no pending work uses
/// the memory.
outback_status free_device_memory(c10::DeviceIndex device, void* data) noexcept;

/// Do the same with the slots host_memory.alloc and host_memory.free. Only for runtimes that have
/// the group host_memory.
outback_status allocate_pinned_memory(size_t size, void** data);
outback_status free_pinned_memory(void* data) noexcept;

}  // namespace outback::core
