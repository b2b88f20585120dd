// The device_cache of each device, and the settings that all caches share. The allocator, graphs,
// and the Python functions for pools and snapshots include this header to reach a device's cache.
// device_cache.h describes a cache.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <string>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {

namespace detail {
// Indexed by device; null before the device's first use. Never destroyed, since tensors may outlive
// main().
inline constinit std::array<std::atomic<device_cache*>, max_devices> caches{};
// The slow path of `cache_of`.
device_cache& make_cache(c10::DeviceIndex device);
}  // namespace detail

/// Returns the device's cache, or null if the device's memory was never used. `device` must be a
/// valid index. The pointer is valid until the process ends. Thread-safe; costs one load.
inline device_cache* cache_if_used(c10::DeviceIndex device) noexcept {
  return detail::caches[static_cast<size_t>(device)].load(std::memory_order_acquire);
}

/// Returns the device's cache, and makes it if needed. `device` must be a valid index. The first
/// call for a device starts the backend, and throws what device_info throws. Thread-safe.
inline device_cache& cache_of(c10::DeviceIndex device) {
  device_cache* const cache = cache_if_used(device);
  return C10_LIKELY(cache != nullptr) ? *cache : detail::make_cache(device);
}

/// Turns the history of all devices on or off, also for devices that are first used later. For
/// torch.<name>.memory._record_memory_history. Thread-safe.
void record_history(const history_settings& settings);

/// Attaches `text` to all later entries of the history, on all devices; "" attaches nothing. The
/// getter returns the latest text. Thread-safe.
void set_history_metadata(const std::string& text);
std::string history_metadata();

}  // namespace outback::core
