// Turns what a target's kernel made into memory and tensors of the device. The functions that get
// memory throw what the target's `adopt` throws.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include "backend_template/ops/in_place/kernel_target.h"

namespace outback::ops {

/// Makes `storage` a storage of `device`, in place: the StorageImpl stays the same object. It must
/// be the target's and have one reference, since nobody else may see it change its device.
void adopt_storage(const kernel_target& target, c10::StorageImpl& storage, c10::Device device);

/// Returns a new storage of `device` over the memory of `storage`, a storage of the target that
/// others hold too, or over a copy of that memory. The memory lives as long as one of both uses it,
/// also if the other one gets new memory.
c10::Storage share_storage(const kernel_target& target, const c10::Storage& storage,
                           c10::Device device);

/// Makes `tensor`, which is the target's, a tensor of `device`, in place: sets its device and its
/// dispatch keys. Its storage must be on `device` already, and nobody else may see the tensor.
void relabel(const kernel_target& target, c10::TensorImpl& tensor, c10::Device device);

/// Returns a view of `source` with the sizes, strides, offset, dtype and conj and neg bits of
/// `view`. `view` is a tensor whose storage is the alias of `source`'s storage: a kernel made it of
/// an alias, and this is the same view on the device. It shares `source`'s storage.
at::Tensor as_view_of(const c10::TensorImpl& view, const c10::TensorImpl& source);

}  // namespace outback::ops
