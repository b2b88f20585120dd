// Keeps the aliases of finished calls for the next calls of the same thread. To make and free an
// alias (a TensorImpl with its version counter, and a StorageImpl) is half of a call's work for a
// tensor.
//
// Keeps an alias only if the call owns its last reference (no other pointer, weak pointer or Python
// object), and only if no kernel changed it, except for the fields that every new alias sets.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/intrusive_ptr.h>

namespace outback::ops {

/// Returns a TensorImpl without a storage, or null if none is kept. It still has the sizes,
/// strides, offset, dtype, device and keys of its last alias.
c10::intrusive_ptr<c10::TensorImpl> take_spare_tensor() noexcept;

/// Returns a StorageImpl without memory, or null. It still has the size, allocator and resizability
/// of its last alias.
c10::intrusive_ptr<c10::StorageImpl> take_spare_storage() noexcept;

/// Keeps `alias`, which make_alias_tensor made, if the rules above allow it. Otherwise the caller
/// still owns `alias`, and destroys it.
void keep_spare(at::Tensor& alias) noexcept;

/// Does the same for a storage from make_alias_storage that still has its original memory. Call it
/// after the calls for the tensors over the storage.
void keep_spare(c10::Storage& alias) noexcept;

}  // namespace outback::ops
