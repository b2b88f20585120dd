// The allocator of pinned host memory: torch's own caching host allocator over the runtime's group
// host_memory, or the twin's host allocator (twin/twin.h) if the process has a twin.
// tensor.pin_memory() and the DataLoader's pin_memory=True reach it through the accelerator hooks.
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
/// If the runtime does not have the group host_memory, the allocator returns ordinary host memory:
/// `is_pinned()` is false and copies are synchronous. So `pin_memory=True` is a hint and never an
/// error.
at::HostAllocator& host_allocator();

/// Returns `size` bytes for copies from and to a device: pinned memory, or pageable memory with a
/// warning if pinned memory has run out.
c10::DataPtr allocate_for_copies(size_t size);

// ---- For held_host_memory.h, which keeps blocks for graphs.

/// Notes that work on `stream` uses the allocator's block that begins at `block`. This does not
/// make a graph hold the block, even if the stream is in a capture.
void note_pinned_use(void* block, const c10::Stream& stream);

/// Gives a block back. If a graph holds the block, does nothing: the last graph that releases the
/// block calls this function again. `context` is the context of the block's DataPtr. The allocator
/// hands the block out again when the noted work, and any open capture on its streams, is over.
void free_pinned(void* context);

}  // namespace outback::core
