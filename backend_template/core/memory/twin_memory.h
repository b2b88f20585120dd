// Memory of a twin as memory of ours: one pool for both devices. A DataPtr of ours owns the twin's
// DataPtr, which is freed, and counted, by the twin's allocator alone. All functions are
// thread-safe.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>
#include <c10/core/Stream.h>

#include <cstddef>

namespace outback::core {

/// Returns `size` bytes of the twin's memory on `device`, a device of ours with the twin `twin`,
/// for work on its current stream. Throws what the twin's allocator throws.
c10::DataPtr allocate_twin_memory(c10::Device twin, std::size_t size, c10::Device device);

/// Turns `memory`, `size` bytes that a twin's kernel allocated, into memory of `device`, without a
/// copy. Memory that is of ours already, which an alias has lent, is handed through.
c10::DataPtr adopt_twin_memory(c10::DataPtr&& memory, std::size_t size, c10::Device device);

/// Returns the memory of `storage`, which is the twin's, as memory of `device`. It holds the
/// storage, which cannot be resized from then on.
c10::DataPtr share_twin_storage(c10::Storage storage, c10::Device device);

/// Returns the twin's storage that has `memory`, `size` bytes: the same one each time, made by the
/// first call. It cannot be resized. Null if `memory` owns none of a twin's, or of another size.
c10::Storage twins_storage_of(const c10::DataPtr& memory, std::size_t size);

/// Notes in the twin's allocator that `stream`, the twin's, uses `memory`. Returns false if it owns
/// none of a twin's.
bool record_twins_stream(const c10::DataPtr& memory, c10::Stream stream);

/// Returns the twin's DataPtr that `memory` owns, or null if it owns none. The pointer is valid as
/// long as `memory` is, and until twins_storage_of().
const c10::DataPtr* twins_memory_in(const c10::DataPtr& memory) noexcept;

/// Returns another owner of `memory`, on `device`, which may be the twin or the CPU. Returns an
/// empty DataPtr if it owns no memory of a twin's.
c10::DataPtr share_twin_memory(const c10::DataPtr& memory, c10::Device device);

}  // namespace outback::core
