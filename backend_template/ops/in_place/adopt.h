// Turns the results of a target's kernel into memory and tensors of the device. adopt_storage and
// share_storage throw what the target's `adopt` throws.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include "backend_template/ops/in_place/kernel_target.h"

namespace outback::ops {

/// Turns `storage`, a storage of the target, into a storage of `device`; the StorageImpl stays the
/// same object. It must have only one reference, since no other owner may see it change its device.
void adopt_storage(const kernel_target& target, c10::StorageImpl& storage, c10::Device device);

/// Returns a new storage of `device` over the memory of `storage`, or over a copy of that memory.
/// `storage` is a storage of the target that has other owners. The memory lives as long as one of
/// the two storages uses it, also if the other one gets new memory.
c10::Storage share_storage(const kernel_target& target, const c10::Storage& storage,
                           c10::Device device);

/// Turns `tensor`, a tensor of the target, into a tensor of `device`: sets its device and its
/// dispatch keys. Its storage must be on `device` already, and the tensor must have no other owner.
void relabel(const kernel_target& target, c10::TensorImpl& tensor, c10::Device device);

/// Returns a view of `source` with the sizes, strides, offset, dtype and conj and neg bits of
/// `view`. `view` is a tensor that a kernel made from an alias of `source`, so its storage is the
/// alias of `source`'s storage. The result is the same view on the device, and shares `source`'s
/// storage.
at::Tensor as_view_of(const c10::TensorImpl& view, const c10::TensorImpl& source);

}  // namespace outback::ops
