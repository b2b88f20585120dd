// The error when a device's memory is full: the text that a person reads, and the observers that
// are told.
#pragma once

#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {

/// A function that is told of out-of-memory errors, with the bytes that were asked for and the
/// device's total and free bytes.
using out_of_memory_observer =
    std::function<void(c10::DeviceIndex device, size_t requested, size_t total, size_t free)>;

/// Adds an observer. It is called before every error of `throw_out_of_memory`, on the thread that
/// asked for memory, with no lock held. An exception of it replaces the error. It is never removed.
/// Thread-safe.
void attach_out_of_memory_observer(out_of_memory_observer observer);

/// What became of the cached memory before the error.
enum class cache_fate : uint8_t {
  emptied,           // it went back to the runtime first
  kept_for_capture,  // a stream of the device is captured, so nobody may wait for the device
  kept_as_useless,   // the request is larger than the whole device
  kept_as_refused    // the request is larger than what the driver allocates at once
};

/// Throws c10::OutOfMemoryError (torch.OutOfMemoryError), which says what was asked for and where
/// the memory is. After the backend's name its text begins as torch.cuda's does ("out of memory.
/// Tried to allocate"), since other libraries look for those words. `requested` is in bytes;
/// `reason` is the runtime's last_error, or "".
///
/// Before that it counts the error, enters it into the history, and tells the profiler and the
/// observers. Asks the runtime for the free memory; hold no lock.
[[noreturn]] void throw_out_of_memory(c10::DeviceIndex device, size_t requested,
                                      c10::StreamId stream, device_cache& cache, cache_fate fate,
                                      const std::string& reason);

/// Returns a size in words, such as "512 bytes" or "1.50 GiB".
std::string readable_size(size_t bytes);

}  // namespace outback::core
