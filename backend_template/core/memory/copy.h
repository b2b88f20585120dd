// Copies and fills of device memory, in stream order. All code of the torch half that moves bytes
// from, to or on the device calls these functions. They choose the stream, order both devices and
// keep pinned memory alive. All are thread-safe.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>

#include "outback/runtime.h"

namespace outback::core {

/// Returns the runtime's description of a pointer (slot host_memory.info), after checking it.
/// Without the group host_memory, describes every pointer as pageable host memory. Starts the
/// backend. Throws what `check` throws, and c10::AcceleratorError for an impossible answer
/// (outback/answer_check.hpp).
outback_pointer_info pointer_info(const void* ptr);

/// Copies `size` bytes from `src` to `dst`. At least one of the devices belongs to this backend and
/// has an index; the other may be the CPU. The copy runs after all work that is on the current
/// streams of both devices at the call, and before all work that is enqueued on them later.
///   device to device  does not wait for the copy, unless the runtime does
///   host to device    returns when `src` may be reused; with `non_blocking` and a pinned `src`,
///                     returns at once
///   device to host    returns when `dst` is written; with `non_blocking` and a pinned `dst`,
///                     returns at once
/// Pinned memory of this backend's host allocator may be freed before the copy is done: the
/// allocator waits for the copy. Keep other pinned memory alive yourself.
///
/// Starts the backend. Throws c10::Error (RuntimeError) if the ranges overlap on one device, and
/// what `check` throws.
void copy_bytes(void* dst, c10::Device dst_device, const void* src, c10::Device src_device,
                size_t size, bool non_blocking);

/// Fills `size` bytes of device memory with copies of a pattern, on the device's current stream.
/// `pattern` is host memory of `pattern_size` bytes, 1, 2, 4 or 8; `size` is a multiple of
/// `pattern_size`. Reads the pattern before it returns, and does not wait for the fill. Starts the
/// backend. Throws what `check` throws.
void fill_bytes(void* dst, c10::DeviceIndex device, size_t size, const void* pattern,
                size_t pattern_size);

/// Returns true if `ptr` lies in host memory that the runtime has pinned. Returns false before the
/// backend has started, and without the group host_memory. Throws what `check` throws.
bool is_pinned(const void* ptr);

}  // namespace outback::core
