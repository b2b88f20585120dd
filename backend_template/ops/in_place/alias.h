// Aliases: tensors of a target's device over the memory of the device's tensors, which the target's
// kernels take as their own. kernel_call.h makes them, and recording/replay_aliases.h does for the
// replays of a graph.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include "backend_template/ops/in_place/kernel_target.h"

namespace outback::ops {

/// Returns an owner of `data`, the memory of `source`, on `device`: the memory lives at least as
/// long as the result, whatever becomes of `source`. Memory that is not the device allocator's
/// cannot leave its storage, which is not resizable, so there the result holds the storage.
c10::DataPtr own_memory(c10::StorageImpl& source, void* data, c10::Device device);

/// Returns a storage over `memory` with the size of `source`. Views take their device from their
/// storage, so an alias needs a storage of its own. If a kernel resizes it, it gets new memory from
/// the target's allocator.
c10::Storage make_alias_storage(const kernel_target& target, const c10::StorageImpl& source,
                                c10::DataPtr&& memory);

/// Returns a tensor over `storage` with the sizes, strides, offset, dtype, conj, neg and
/// zero-tensor bits of `source`; it is an inference tensor if `source` is one. It has no gradient,
/// and its version counter is not the source's, so autograd must be off while a kernel uses it.
/// Mostly it is one that was lent before (spare_aliases.h), with nothing left of that.
at::Tensor make_alias_tensor(const kernel_target& target, const at::Tensor& source,
                             c10::Storage storage);

/// The same for a quantized, nested or sparse tensor: the alias has the class of `source`'s
/// TensorImpl and its other fields. With a null `storage` the alias keeps `source`'s members.
at::Tensor make_special_alias(const kernel_target& target, const at::Tensor& source,
                              c10::Storage storage);

/// Returns a tensor of the target's device without memory, which has the dtype, sizes, strides and
/// requires_grad of `source`: for functions that choose by these. `source` is ours, or undefined,
/// which is returned; it may be a fake tensor or the wrapper of a transform, without memory too.
at::Tensor make_shape_alias(const kernel_target& target, const at::Tensor& source);

}  // namespace outback::ops
