// Aliases: CPU tensors over the memory of the device's tensors, which a CPU kernel takes as its
// own. Only where the CPU addresses the device's memory, or over a stage. cpu_call.h and
// recording/lent_tensors.h make them.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

namespace outback::ops {

/// Returns a CPU storage over `data`, the memory of `source`. It holds a reference to `source`, so
/// a kernel may keep what it is lent. Views take their device from their storage, so an alias needs
/// a storage of its own. If a kernel resizes the alias, it gets CPU memory.
c10::Storage make_alias_storage(c10::StorageImpl& source, void* data);

/// Returns `data` as memory of the CPU that holds a reference to `source`, whose memory it is.
c10::DataPtr memory_of(c10::StorageImpl& source, void* data);

/// Makes `alias`, which a kernel has kept, an owner of the memory that it lies over: `source` may
/// get other memory. Does nothing for an alias that has memory of its own.
void keep_memory(c10::StorageImpl& alias, const c10::StorageImpl& source);

/// The same as make_alias_storage without the reference: `source`'s memory must outlive the result.
/// For the aliases of a capture, whose graph keeps the memory and may use it again when its tensor
/// is gone, and, with a null `data`, for the aliases that a stage gives memory of their own.
c10::Storage make_borrowed_storage(const c10::StorageImpl& source, void* data);

/// Returns a CPU tensor over `storage` with the sizes, strides, offset, dtype, conj, neg and
/// zero-tensor bits of `source`; it is an inference tensor if `source` is one. It has no version
/// counter and no gradient, so autograd must be off while a kernel uses it.
at::Tensor make_alias_tensor(const at::Tensor& source, c10::Storage storage);

/// The same for a quantized, nested or sparse tensor: the alias has the class of `source`'s
/// TensorImpl and its other fields. With a null `storage` the alias keeps `source`'s members.
at::Tensor make_special_alias(const at::Tensor& source, c10::Storage storage);

}  // namespace outback::ops
