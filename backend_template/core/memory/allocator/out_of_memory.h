// The error when a device's memory is full: its text, and the observers that core calls.
#pragma once

#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {

/// A function that core calls before an out-of-memory error, with the requested bytes and the
/// device's total and free bytes.
using out_of_memory_observer =
    std::function<void(c10::DeviceIndex device, size_t requested, size_t total, size_t free)>;

/// Adds an observer. `throw_out_of_memory` calls it before every error, on the thread that
/// requested memory, with no lock held. If the observer throws, its exception replaces the error.
/// An observer is never removed. Thread-safe.
void attach_out_of_memory_observer(out_of_memory_observer observer);

/// What happened to the cached memory before the error.
enum class cache_fate : uint8_t {
  emptied,           // the cached memory went back to the runtime
  kept_for_capture,  // a stream of the device is captured, so no wait for the device is allowed
  kept_as_useless,   // the request is larger than the whole device
  kept_as_refused    // the request is larger than the driver allocates at once
};

/// Throws c10::OutOfMemoryError (torch.OutOfMemoryError), with the requested size and a summary of
/// the memory in use. After the backend's name the text begins as in torch.cuda ("out of memory.
/// Tried to allocate"), since other libraries search for these words. `requested` is in bytes;
/// `reason` is the runtime's last_error, or "".
///
/// Before it throws, it counts the error, enters it into the history, reports it to the profiler
/// and calls the observers. It asks the runtime for the free memory, so hold no lock.
[[noreturn]] void throw_out_of_memory(c10::DeviceIndex device, size_t requested,
                                      c10::StreamId stream, device_cache& cache, cache_fate fate,
                                      const std::string& reason);

/// Returns a size as text, such as "512 bytes" or "1.50 GiB".
std::string readable_size(size_t bytes);

}  // namespace outback::core
