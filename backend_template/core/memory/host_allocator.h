// The allocator of pinned host memory: torch's own caching host allocator over the runtime's group
// host_memory, or the twin's (twin/twin.h) where the process has one. tensor.pin_memory() and the
// DataLoader's pin_memory=True reach it through the accelerator hooks.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

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

// ---- For held_host_memory.h, which keeps blocks for graphs.

/// Notes that work on `stream` uses the block of ours that begins at `block`. No graph holds it for
/// that, even if the stream is in a capture.
void note_pinned_use(void* block, const c10::Stream& stream);

/// Gives a block back, unless a graph holds it: then it comes here again when none does. `context`
/// is that of the block's DataPtr. It is handed out again when the work that was noted is over;
/// where a stream of such work is in a capture, after that.
void free_pinned(void* context);

}  // namespace outback::core
