// What a person reads when the device's memory is full.
#pragma once

#include <cstddef>
#include <string>

#include "backend_template/core/allocator/device_cache.h"

namespace outback::core {

/// Throws c10::OutOfMemoryError that says what was asked for and where the memory is. `reason`: the
/// runtime's words, or "".
[[noreturn]] void throw_out_of_memory(c10::DeviceIndex device, size_t requested,
                                      const device_cache& cache, const std::string& reason);

/// "1.50 GiB"
std::string readable_size(size_t bytes);

}  // namespace outback::core
