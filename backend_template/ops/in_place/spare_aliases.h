// Aliases that their calls are done with, for the next calls of the same thread. To make an alias
// and to free it, a TensorImpl with its version counter and a StorageImpl, is half of what a call
// does for a tensor.
//
// Only what nobody has but the call comes here, with no pointer, no weak pointer and no Python
// object on it; and only what is as it was made, but for the fields that each alias gets anew.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/intrusive_ptr.h>

namespace outback::ops {

/// Returns a TensorImpl without a storage, or null if there is none to spare. Its sizes, strides,
/// offset, dtype, device and keys are those of another alias.
c10::intrusive_ptr<c10::TensorImpl> take_spare_tensor() noexcept;

/// Returns a StorageImpl without memory, or null. Its size, allocator and resizability are those of
/// another alias.
c10::intrusive_ptr<c10::StorageImpl> take_spare_storage() noexcept;

/// Keeps `alias`, which make_alias_tensor made, if that may be. If not, the caller still has it, to
/// destroy.
void keep_spare(at::Tensor& alias) noexcept;

/// The same for a storage that make_alias_storage made, and whose memory is what it was made over.
/// After the tensors over it.
void keep_spare(c10::Storage& alias) noexcept;

}  // namespace outback::ops
