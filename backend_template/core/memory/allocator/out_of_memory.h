// What a person reads when the device's memory is full, and who else is told.
#pragma once

#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {

/// Called with the device, the bytes asked for, and the device's total and free bytes.
using out_of_memory_observer =
    std::function<void(c10::DeviceIndex device, size_t requested, size_t total, size_t free)>;

/// Before every error of `throw_out_of_memory`, on the thread that asked, and without a lock.
/// Observers are never removed. Thread-safe.
void attach_out_of_memory_observer(out_of_memory_observer observer);

/// What became of the cached memory before there was an error.
enum class cache_fate : uint8_t {
  emptied,
  kept_for_capture,  // a stream of the device is captured
  kept_as_useless    // more was asked for than the device has
};

/// Counts and throws c10::OutOfMemoryError that says what was asked for and where the memory is, in
/// words that begin as torch.cuda's, which others look for. `reason`: the runtime's words, or "".
[[noreturn]] void throw_out_of_memory(c10::DeviceIndex device, size_t requested,
                                      c10::StreamId stream, device_cache& cache, cache_fate fate,
                                      const std::string& reason);

/// "1.50 GiB"
std::string readable_size(size_t bytes);

}  // namespace outback::core
