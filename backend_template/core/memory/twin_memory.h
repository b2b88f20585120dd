// Memory of a twin as memory of this backend, so that both devices share one pool. A DataPtr of
// this backend owns the twin's DataPtr; only the twin's allocator counts and frees the memory. All
// functions are thread-safe.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>
#include <c10/core/Stream.h>

#include <cstddef>

namespace outback::core {

/// Returns `size` bytes of memory of `twin`, as memory of `device`, whose twin it is, for work on
/// the current stream of `device`. Throws what the twin's allocator throws.
c10::DataPtr allocate_twin_memory(c10::Device twin, std::size_t size, c10::Device device);

/// Turns `memory`, `size` bytes that a twin's kernel allocated, into memory of `device`, without a
/// copy. If `memory` came from an alias that was lent to the kernel, it belongs to this backend
/// already, and is returned as it is.
c10::DataPtr adopt_twin_memory(c10::DataPtr&& memory, std::size_t size, c10::Device device);

/// Returns the memory of `storage`, a storage of the twin, as memory of `device`. The result keeps
/// the storage alive, and the storage can no longer be resized.
c10::DataPtr share_twin_storage(c10::Storage storage, c10::Device device);

/// Returns the twin's storage over `memory`, `size` bytes. The first call makes the storage, and
/// later calls return the same one. The storage cannot be resized. Returns null if `memory` owns no
/// memory of a twin, or memory of another size.
c10::Storage twins_storage_of(const c10::DataPtr& memory, std::size_t size);

/// Notes in the twin's allocator that `stream`, a stream of the twin, uses `memory`. Returns false
/// if `memory` owns no memory of a twin.
bool record_twins_stream(const c10::DataPtr& memory, c10::Stream stream);

/// Returns the twin's DataPtr that `memory` owns, or null. The pointer is valid while `memory`
/// lives, but no longer than until the next twins_storage_of().
const c10::DataPtr* twins_memory_in(const c10::DataPtr& memory) noexcept;

/// Returns another owner of `memory`, on `device`, which may be the twin or the CPU. Returns an
/// empty DataPtr if `memory` owns no memory of a twin.
c10::DataPtr share_twin_memory(const c10::DataPtr& memory, c10::Device device);

}  // namespace outback::core
