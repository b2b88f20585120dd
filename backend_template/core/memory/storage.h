// Makes storages of the device over given memory, and resizes them. tensor.resize_ and
// UntypedStorage.resize_ call these functions, through the accelerator hooks.
#pragma once

#include <c10/core/Storage.h>

#include <cstddef>

namespace outback::core {

/// Returns a resizable storage over `memory`, `size` bytes of a device of this backend.
c10::Storage make_storage(c10::DataPtr&& memory, size_t size);

/// Gives `storage`, which is on this backend's device, new memory of `size` bytes, and copies as
/// much of the old content as fits, on the device's current stream. Does not wait for the copy.
///
/// Throws c10::Error (RuntimeError) if the storage is not resizable, and what allocate_on throws;
/// the storage is then unchanged.
void resize_storage(c10::StorageImpl& storage, size_t size);

}  // namespace outback::core
