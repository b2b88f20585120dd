// The caches of all devices, one each.
#pragma once

#include <array>
#include <atomic>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {

namespace detail {
// Leaked: tensors may outlive main().
extern constinit std::array<std::atomic<device_cache*>, max_devices> caches;
device_cache& make_cache(c10::DeviceIndex device);
}  // namespace detail

/// The cache of a device, or null where that was not used yet.
inline device_cache* cache_if_used(c10::DeviceIndex device) noexcept {
  return detail::caches[static_cast<size_t>(device)].load(std::memory_order_acquire);
}

/// The cache of a device that there is; made at its first use. Thread-safe.
inline device_cache& cache_of(c10::DeviceIndex device) {
  device_cache* const it = cache_if_used(device);
  return C10_LIKELY(it != nullptr) ? *it : detail::make_cache(device);
}

/// Applies to every device, also to those that are first used later. Thread-safe.
void record_history(const history_settings& settings);
void set_history_metadata(const std::string& text);
std::string history_metadata();

}  // namespace outback::core
