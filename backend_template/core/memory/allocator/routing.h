// Which pool, if any, serves the calling thread's allocations; and whether freed memory is kept.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <atomic>

namespace outback::core {

namespace detail {
extern std::atomic<bool> caching_is_on;
}  // namespace detail

/// An id that no pool of this process has had. Thread-safe.
c10::MempoolId_t new_pool_id() noexcept;

/// Between the two, the calling thread's allocations on the device come out of the pool. Nests. The
/// pool exists on the device from `begin` on, until it has neither users nor memory.
void begin_allocate_to_pool(c10::DeviceIndex device, c10::MempoolId_t pool);
/// Throws when the pool is not the one that was begun last on the device.
void end_allocate_to_pool(c10::DeviceIndex device, c10::MempoolId_t pool);

/// What was begun last, else the pool of the capture that the thread's current stream is in, else
/// {0, 0}.
c10::MempoolId_t pool_for(c10::DeviceIndex device) noexcept;

/// Off: memory goes back to the runtime as soon as it is freed. Process-wide.
void enable_caching(bool on) noexcept;
inline bool is_caching_enabled() noexcept {
  return detail::caching_is_on.load(std::memory_order_relaxed);
}

}  // namespace outback::core
