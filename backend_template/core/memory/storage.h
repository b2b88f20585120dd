// Storages that grow and shrink.
#pragma once

#include <c10/core/StorageImpl.h>

#include <cstddef>

namespace outback::core {

/// Gives `storage`, one of this device's, memory of `size` bytes and keeps what fits of its
/// content. Stream-ordered. Throws when the storage is not resizable.
void resize_storage(c10::StorageImpl& storage, size_t size);

}  // namespace outback::core
