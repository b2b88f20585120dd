// Returns memory from tensors to the cache, and from the cache to the runtime. Unlike device_cache,
// these functions call slots and may wait for the device. All are thread-safe.
#pragma once

#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {

/// The deleter of every DataPtr of this allocator. `context` is the block. Does not wait for the
/// device: a block that streams still use becomes pending. In a forked child it does nothing.
void free_block(void* context) noexcept;

/// Sets the function that `process_pending` calls if it waits. The function waits on a device for
/// the launches of destroyed graphs, and frees the memory of these graphs. Only core/graphs calls
/// this setter, once. Thread-safe.
void set_wait_for_launches(void (*wait)(c10::DeviceIndex)) noexcept;

/// Returns pending blocks to the cache, or to the runtime, if the streams that use them are done.
/// With `wait` it waits for these streams. When it returns, all blocks that were pending at the
/// call have come back, including blocks that another thread has taken out of the queues.
///
/// Does nothing while a stream of the device is captured. Throws what `check` throws if a slot
/// fails to tell whether work is done; the blocks then stay pending.
void process_pending(device_cache& cache, bool wait);

/// Waits for the device, and gives the cached segments of a pool back to the runtime. `pool` has
/// the same meaning as for device_cache::take_cached. Throws what the wait throws. If the device is
/// lost, gives the memory back first; if a capture has begun meanwhile, keeps the memory.
void empty_cache(device_cache& cache, c10::DeviceIndex device, c10::MempoolId_t pool);

/// Does what `empty_cache` does, for at least `bytes` of the common pool's segments that have been
/// free for longest. Does nothing while a stream of the device is captured.
void collect_garbage(device_cache& cache, c10::DeviceIndex device, size_t bytes);

/// Tells torch's profiler that the memory at `data` grew by `change` bytes, negative for a free.
/// Costs one check if no profiler records memory.
void report_to_profiler(const device_cache& cache, c10::DeviceIndex device, void* data,
                        int64_t change);

}  // namespace outback::core
