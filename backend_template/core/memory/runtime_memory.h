// Memory as the runtime hands it out: every answer is checked before anybody uses it.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>

#include "outback/runtime.h"

namespace outback::core {

/// The slot mem_alloc, for `size` bytes, more than none. OUTBACK_OK means memory that is aligned as
/// the device says and that nobody else has: for any other answer it throws what `blame` throws,
/// and what is nobody else's has gone back.
outback_status allocate_device_memory(c10::DeviceIndex device, size_t size, void** data);
/// The slot mem_free.
outback_status free_device_memory(c10::DeviceIndex device, void* data) noexcept;

/// The same of host_memory.alloc and host_memory.free. Only where the runtime has the group.
outback_status allocate_pinned_memory(size_t size, void** data);
outback_status free_pinned_memory(void* data) noexcept;

}  // namespace outback::core
