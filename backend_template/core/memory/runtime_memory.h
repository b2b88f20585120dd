// The slots that allocate and free memory, with every answer of the runtime checked before anybody
// uses it. The allocators of core call these and not the slots. All functions are thread-safe.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>

#include "outback/runtime.h"

namespace outback::core {

/// Calls the slot mem_alloc for `size` bytes, more than 0, and returns its status. `*data` is set
/// only for OUTBACK_OK.
///
/// With OUTBACK_OK the memory is aligned as the device's properties say, and overlaps none that is
/// still allocated. It throws what `blame` throws for any other answer. Misaligned memory is given
/// back first; memory that overlaps is not, since freeing it would free somebody else's.
outback_status allocate_device_memory(c10::DeviceIndex device, size_t size, void** data);
/// Calls the slot mem_free and returns its status. No work may use the memory any more.
outback_status free_device_memory(c10::DeviceIndex device, void* data) noexcept;

/// Do the same with the slots host_memory.alloc and host_memory.free. Only for runtimes that have
/// the group host_memory.
outback_status allocate_pinned_memory(size_t size, void** data);
outback_status free_pinned_memory(void* data) noexcept;

}  // namespace outback::core
