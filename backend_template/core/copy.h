// Bytes between the host and devices, ordered by streams.
#pragma once

#include <c10/core/Device.h>

#include <cstddef>

#include "outback/runtime.h"

namespace outback::core {

/// Copies `size` bytes between `dst` and `src`, of which at least one is device memory of this
/// backend and the other may be host memory. Ordered after what the current streams of both devices
/// hold, and before what they get next.
///   device to device  asynchronous
///   host to device    returns when `src` may be reused, unless it is pinned and `non_blocking`
///   device to host    returns when `dst` is written, unless it is pinned and `non_blocking`
void copy_bytes(void* dst, c10::Device dst_device, const void* src, c10::Device src_device,
                size_t size, bool non_blocking);

/// Fills `size` bytes of device memory with a pattern of 1, 2, 4 or 8 bytes, which `size` is a
/// multiple of, on the device's current stream. The pattern is read before it returns.
void fill_bytes(void* dst, c10::DeviceIndex device, size_t size, const void* pattern,
                size_t pattern_size);

/// What the runtime says of `ptr`; pageable host memory where it has no group host_memory.
outback_pointer_info pointer_info(const void* ptr);

/// True when `ptr` lies in host memory that the runtime pinned.
bool is_pinned(const void* ptr);

}  // namespace outback::core
