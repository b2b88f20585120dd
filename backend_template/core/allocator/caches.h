// The caches of all devices, one each.
#pragma once

#include "backend_template/core/allocator/device_cache.h"

namespace outback::core {

/// The cache of a device that there is; made at its first use. Leaked: tensors may outlive main().
/// Thread-safe.
device_cache& cache_of(c10::DeviceIndex device);

/// The same, or null where that device was not used yet.
device_cache* cache_if_used(c10::DeviceIndex device) noexcept;

/// Applies to every device, also to those that are first used later. Thread-safe.
void record_history(const history_settings& settings);
void set_history_metadata(const std::string& text);
std::string history_metadata();

}  // namespace outback::core
