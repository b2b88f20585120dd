// Pinned host memory, cached by torch's own host allocator.
#pragma once

namespace at {
struct HostAllocator;
}  // namespace at

namespace outback::core {

/// The process's pinned allocator, leaked. A runtime without the host memory group gets ordinary
/// host memory from it, for which `is_pinned()` is false and copies are synchronous:
/// `pin_memory=True` is a hint, not an error.
at::HostAllocator& host_allocator();

}  // namespace outback::core
