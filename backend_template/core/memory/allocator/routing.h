// Which memory pool serves the calling thread's allocations, and whether freed memory is kept at
// all. torch.<name>.use_mem_pool, graphs and caching_allocator_enable use it.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <atomic>

namespace outback::core {

namespace detail {
inline constinit std::atomic<bool> caching_is_on{true};
}  // namespace detail

/// Returns an id that no pool of this process has had. Thread-safe.
c10::MempoolId_t new_pool_id() noexcept;

/// Lets the calling thread's allocations on `device` come from the pool, until the matching
/// `end_allocate_to_pool`. Calls nest: the one that was begun last counts. Each call is a user of
/// the pool, which exists on the device until it has neither users nor memory. Starts the backend.
void begin_allocate_to_pool(c10::DeviceIndex device, c10::MempoolId_t pool);
/// Ends it. Throws c10::Error (RuntimeError), and changes nothing, if `pool` is not the pool that
/// the thread began last on the device.
void end_allocate_to_pool(c10::DeviceIndex device, c10::MempoolId_t pool);

/// Returns the pool for an allocation of the calling thread on `device`: the one that was begun
/// last; without one, the pool of the capture that the thread's current stream is in; else {0, 0}.
c10::MempoolId_t pool_for(c10::DeviceIndex device) noexcept;

/// Turns the caching of freed memory on or off, for the whole process. While it is off, what is
/// allocated goes back to the runtime as soon as it is freed. Thread-safe, as is the getter.
void enable_caching(bool on) noexcept;
inline bool is_caching_enabled() noexcept {
  return detail::caching_is_on.load(std::memory_order_relaxed);
}

}  // namespace outback::core
