// The caching allocator behind every tensor of the device. torch reaches it through
// c10::GetAllocator; the operators of this backend use the functions below, which name the device.
//
// On a device with a twin (twin/twin.h) the memory is the twin's, from its own allocator: what is
// counted, cached and limited there is so for both (twin_memory.h).
//
// This header is the only one of the allocator that operators need. memory/allocator/ holds its
// parts: device_cache.h is the place to start there. All functions are thread-safe.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <optional>

#include "backend_template/core/devices/device.h"

namespace outback::core {

/// Returns the process's device allocator. It caches freed memory by size and stream, as
/// torch.cuda's does. It is never destroyed, since tensors may outlive main().
c10::DeviceAllocator& device_allocator();

/// Returns `size` bytes of memory on `device`, whatever the current device is, for work on the
/// calling thread's current stream of that device. For 0 bytes the pointer is null.
///
/// The memory is free for others when the DataPtr dies: work that is then already on the same
/// stream may still use it. Work on other streams has to be made known by recordStream.
///
/// Starts the backend. If memory runs out, it waits for the device and empties the cache before it
/// fails, unless a graph is being captured on the device. Throws c10::OutOfMemoryError
/// (torch.OutOfMemoryError) with a summary of the device's memory, and what check_index and `check`
/// throw.
c10::DataPtr allocate_on(c10::DeviceIndex device, size_t size);

/// Turns `memory`, `size` bytes that a CPU kernel allocated for its result, into memory of
/// `device`, without a copy. Call it only if `addresses_host(device)`, with a valid index.
///
/// The memory counts in the device's statistics and against its size. It goes back to its own
/// deleter when the last owner is gone and the streams that used it are done. On a device with a
/// twin it is copied instead. Throws
/// c10::OutOfMemoryError if the device has no room, and c10::Error (RuntimeError) during a capture
/// on the current stream: no replay would make the result again.
c10::DataPtr adopt(c10::DataPtr&& memory, size_t size, c10::DeviceIndex device);

/// Returns true if `memory` was allocated from the pool. False for memory that this allocator does
/// not own. The caller must keep `memory` alive meanwhile.
bool is_of_pool(const c10::DataPtr& memory, c10::MempoolId_t pool) noexcept;

/// Where memory that this allocator made comes from.
struct allocation {
  void* base;                 // what mem_alloc answered, within which the memory lies
  c10::DeleterFnPtr foreign;  // of adopted memory, for which `base` says nothing; else null
};

/// Returns where `memory` comes from, or nothing for memory that this allocator did not make. The
/// caller must keep `memory` alive meanwhile.
std::optional<allocation> allocation_of(const c10::DataPtr& memory);

/// Returns another owner of `memory`, on `device`, which may be the CPU. The memory is freed when
/// its last owner goes. Returns an empty DataPtr for memory that this allocator did not make.
c10::DataPtr share_memory(const c10::DataPtr& memory, c10::Device device);

}  // namespace outback::core
