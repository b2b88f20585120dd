// Aliases: tensors of a target's device over the memory of this device's tensors. The target's
// kernels take them as tensors of their own. kernel_call.h makes aliases, and
// recording/replay_aliases.h makes them for the replays of a graph.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include "backend_template/ops/in_place/kernel_target.h"

namespace outback::ops {

/// Returns an owner of `data`, the memory of `source`, on `device`: the memory lives at least as
/// long as the result, even if `source` dies or gets other memory. If the memory is not from the
/// device allocator, the result holds the storage instead; such a storage is not resizable, so it
/// keeps its memory.
c10::DataPtr own_memory(c10::StorageImpl& source, void* data, c10::Device device);

/// Returns a storage over `memory` with the size of `source`. Views take their device from their
/// storage, so an alias needs its own storage. If a kernel resizes the alias's storage, that
/// storage gets new memory from the target's allocator.
c10::Storage make_alias_storage(const kernel_target& target, const c10::StorageImpl& source,
                                c10::DataPtr&& memory);

/// Returns a tensor over `storage` with the sizes, strides, offset, dtype, conj, neg and
/// zero-tensor bits of `source`; it is an inference tensor if `source` is one. It has no gradient,
/// and does not share the source's version counter, so autograd must be off while a kernel uses it.
/// The result is usually a reused object (spare_aliases.h) in which all fields are set again.
at::Tensor make_alias_tensor(const kernel_target& target, const at::Tensor& source,
                             c10::Storage storage);

/// Does the same for a quantized, nested or sparse tensor: the alias has the class of `source`'s
/// TensorImpl and its other fields. With a null `storage` the alias keeps `source`'s members.
at::Tensor make_special_alias(const kernel_target& target, const at::Tensor& source,
                              c10::Storage storage);

/// Returns a tensor of the target's device without memory, with the dtype, sizes, strides and
/// requires_grad of `source`, for functions that choose a kernel by these properties. `source` is a
/// tensor of this backend, perhaps a fake tensor or the wrapper of a transform, which have no
/// memory either. An undefined `source` is returned unchanged.
at::Tensor make_shape_alias(const kernel_target& target, const at::Tensor& source);

}  // namespace outback::ops
