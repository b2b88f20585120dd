// A tensor of the device as a CPU kernel may see it: same bytes, same shape, on the CPU.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

namespace outback::ops {

/// A CPU storage over `data`, memory of `source`, which lives as long as the alias does: a kernel
/// may keep what it is lent. Views that a kernel makes take their device from their storage, so an
/// alias cannot share ours. A kernel that lets it grow gets CPU memory for it.
c10::Storage make_alias_storage(c10::StorageImpl& source, void* data);

/// `data` for the CPU, with a hold on the storage whose memory it is.
c10::DataPtr memory_of(c10::StorageImpl& source, void* data);

/// For an alias that a kernel has kept: it owns the memory that it lies over from now on, whatever
/// becomes of `source`, whose memory may be replaced. Nothing where it has memory of its own.
void keep_memory(c10::StorageImpl& alias, const c10::StorageImpl& source);

/// The same without a hold on `source`: for the aliases of a capture, whose graph holds the memory
/// and may use it anew when its tensor is gone; and for those that get memory of their own.
c10::Storage make_borrowed_storage(const c10::StorageImpl& source, void* data);

/// A CPU tensor over `storage` that is like `source` in all else: sizes, strides, offset, dtype,
/// the conj, neg and zero-tensor bits, and whether it is an inference tensor. It has no version
/// counter: nothing may record it.
at::Tensor make_alias_tensor(const at::Tensor& source, c10::Storage storage);

/// The same for a tensor of another kind (quantized, nested), whose class is kept. `storage` may be
/// null.
at::Tensor make_special_alias(const at::Tensor& source, c10::Storage storage);

}  // namespace outback::ops
