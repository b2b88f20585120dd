// The way of memory back: from a tensor to the cache, and from the cache to the runtime. Unlike
// device_cache, these functions call slots and may wait for the device. All are thread-safe.
#pragma once

#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {

/// The deleter of every DataPtr of this allocator. `context` is the block. Does not wait for the
/// device: a block that streams still use becomes pending. In a forked child it does nothing.
void free_block(void* context) noexcept;

/// Sets what `process_pending` calls if it waits: a function that waits for the launches of graphs
/// that are gone, on a device, and frees what they have used. For graphs; there is one.
/// Thread-safe.
void set_wait_for_launches(void (*wait)(c10::DeviceIndex)) noexcept;

/// Returns pending blocks to the cache, or to the runtime, if the streams that use them are done.
/// With `wait` it waits for those streams; when it returns, everything that was pending at the call
/// has come back, also what another thread has taken up.
///
/// Does nothing while a stream of the device is captured. Throws what `check` throws if the device
/// cannot say whether work is done; the blocks then stay pending.
void process_pending(device_cache& cache, bool wait);

/// Gives the cached segments of a pool back to the runtime, after it has waited for the device.
/// `pool` is as for device_cache::take_cached. Throws what the wait threw: after giving the memory
/// back if the device is lost, and without it if a capture has begun meanwhile.
void empty_cache(device_cache& cache, c10::DeviceIndex device, c10::MempoolId_t pool);

/// Does the same for at least `bytes` of the common pool's segments that have been free for
/// longest. Does nothing while a stream of the device is captured.
void collect_garbage(device_cache& cache, c10::DeviceIndex device, size_t bytes);

/// Tells torch's profiler that the memory at `data` grew by `change` bytes, negative for a free.
/// Costs a check if no profiler records memory.
void report_to_profiler(const device_cache& cache, c10::DeviceIndex device, void* data,
                        int64_t change);

}  // namespace outback::core
