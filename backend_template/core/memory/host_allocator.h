// The allocator of pinned host memory: torch's own caching host allocator over the runtime's group
// host_memory, or the twin's (twin/twin.h) where the process has one. tensor.pin_memory() and the
// DataLoader's pin_memory=True reach it through the accelerator hooks.
#pragma once

#include <c10/core/Allocator.h>

#include <cstddef>

namespace at {
struct HostAllocator;
}  // namespace at

namespace outback::core {

/// Returns the process's pinned allocator. It is never destroyed, since tensors may outlive main().
/// Thread-safe. Allocating starts the backend.
///
/// If the runtime does not have the group host_memory, it gives ordinary host memory: `is_pinned()`
/// is false for it and copies are synchronous. So `pin_memory=True` is a hint and never an error.
at::HostAllocator& host_allocator();

/// Returns `size` bytes for copies from and to a device: pinned, or pageable with a warning where
/// pinned memory has run out.
c10::DataPtr allocate_for_copies(size_t size);

}  // namespace outback::core
