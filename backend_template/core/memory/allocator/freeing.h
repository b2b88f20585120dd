// The way of memory back: from a tensor to the cache, and from the cache to the runtime.
#pragma once

#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {

/// The deleter of every DataPtr of ours; `context` is its block.
void free_block(void* context) noexcept;

/// Frees what streams are done with. `wait`: waits for the streams instead, and when it returns,
/// all that was pending when it was called has come back, whichever thread did it. Throws where a
/// device cannot say so any more; then what it was asked for, and all the rest, goes on waiting.
/// Nothing while a stream of the device is captured.
void process_pending(device_cache& cache, bool wait);

/// Lets the blocks that were freed during captures wait for their streams, where all captures of
/// their device are over.
void free_deferred() noexcept;

/// Waits for the device's work, then gives what is cached of the pool back. Throws what the waiting
/// threw, after giving back; a capture that began meanwhile keeps the memory.
void empty_cache(device_cache& cache, c10::DeviceIndex device, c10::MempoolId_t pool);

/// The same for at least `bytes` of what has been free for longest.
void collect_garbage(device_cache& cache, c10::DeviceIndex device, size_t bytes);

/// Tells torch's profiler of a change by `change` bytes at `data`.
void report_to_profiler(const device_cache& cache, c10::DeviceIndex device, void* data,
                        int64_t change);

}  // namespace outback::core
