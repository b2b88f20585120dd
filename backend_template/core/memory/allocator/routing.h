// Chooses the memory pool for the calling thread's allocations, and turns the caching of freed
// memory on and off. For torch.<name>.use_mem_pool, graphs and caching_allocator_enable.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <atomic>

namespace outback::core {

namespace detail {
inline constinit std::atomic<bool> caching_is_on{true};
}  // namespace detail

/// Returns an id that no pool of this process has or had. Thread-safe.
c10::MempoolId_t new_pool_id() noexcept;

/// Makes the calling thread's allocations on `device` come from the pool, until the matching
/// `end_allocate_to_pool`. Calls nest: the latest pool counts. Each call is a user of the pool. The
/// pool exists on the device until it has neither users nor memory. Starts the backend.
void begin_allocate_to_pool(c10::DeviceIndex device, c10::MempoolId_t pool);
/// Ends the thread's latest begin_allocate_to_pool on the device. Throws c10::Error (RuntimeError),
/// and changes nothing, if that call was for another pool than `pool`.
void end_allocate_to_pool(c10::DeviceIndex device, c10::MempoolId_t pool);

/// Returns the pool for an allocation of the calling thread on `device`: the pool of the latest
/// begin_allocate_to_pool; otherwise the pool of the capture on the thread's current stream;
/// otherwise {0, 0}.
c10::MempoolId_t pool_for(c10::DeviceIndex device) noexcept;

/// Turns the caching of freed memory on or off, for the whole process. Memory that is allocated
/// while caching is off goes back to the runtime as soon as it is freed. Thread-safe, as is the
/// getter.
void enable_caching(bool on) noexcept;
inline bool is_caching_enabled() noexcept {
  return detail::caching_is_on.load(std::memory_order_relaxed);
}

}  // namespace outback::core
