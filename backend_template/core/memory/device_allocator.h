// The caching allocator behind every tensor of the device. torch reaches it through
// c10::GetAllocator; the operators of this backend use the functions below, which name the device.
//
// On a device with a twin (twin/twin.h) the memory comes from the twin's own allocator, so both
// devices share its statistics, its cache and its limit (twin_memory.h).
//
// Operators need no other header of the allocator. Its parts are in memory/allocator/; start to
// read at device_cache.h. All functions are thread-safe.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <optional>

#include "backend_template/core/devices/device.h"

namespace outback::core {

/// Returns the process's device allocator. It caches freed memory by size and stream, as
/// torch.cuda's does. It is never destroyed, since tensors may outlive main().
c10::DeviceAllocator& device_allocator();

/// Returns `size` bytes of memory on `device`, which need not be the current device, for work on
/// the calling thread's current stream of that device. For 0 bytes the pointer is null.
///
/// When the DataPtr dies, the memory may be allocated again. Work that is already on the same
/// stream by then may still use the memory. For work on other streams, call recordStream.
///
/// Starts the backend. If memory runs out, it waits for the device and empties the cache before it
/// fails, unless a graph is being captured on the device. Throws c10::OutOfMemoryError
/// (torch.OutOfMemoryError) with a summary of the device's memory, and what check_index and `check`
/// throw.
c10::DataPtr allocate_on(c10::DeviceIndex device, size_t size);

/// Turns `memory`, `size` bytes that a CPU kernel allocated for its result, into memory of
/// `device`, without a copy. Call it only if `addresses_host(device)`, with a valid index.
///
/// The memory counts in the device's statistics and against its size. Its own deleter frees it when
/// the last owner is gone and the streams that used it are done. On a device with a twin, copies
/// the memory instead. Throws c10::OutOfMemoryError if the device has no room, and c10::Error
/// (RuntimeError) during a capture on the current stream, since no replay would compute the result
/// again.
c10::DataPtr adopt(c10::DataPtr&& memory, size_t size, c10::DeviceIndex device);

/// Returns true if `memory` was allocated from `pool`. Returns false for memory that this allocator
/// does not own. The caller must keep `memory` alive during the call.
bool is_of_pool(const c10::DataPtr& memory, c10::MempoolId_t pool) noexcept;

/// The origin of memory that this allocator made.
struct allocation {
  void* base;                 // from mem_alloc: the segment that has the memory
  c10::DeleterFnPtr foreign;  // deleter of adopted memory (then ignore `base`), or null
};

/// Returns the origin of `memory`, or std::nullopt for memory that this allocator did not make. The
/// caller must keep `memory` alive during the call.
std::optional<allocation> allocation_of(const c10::DataPtr& memory);

/// Returns another owner of `memory`, on `device`, which may be the CPU. The memory is freed when
/// its last owner goes. Returns an empty DataPtr for memory that this allocator did not make.
c10::DataPtr share_memory(const c10::DataPtr& memory, c10::Device device);

}  // namespace outback::core
