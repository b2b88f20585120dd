// A tensor of the device as a CPU kernel may see it: same bytes, same shape, on the CPU.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

namespace outback::ops {

/// A CPU storage over `data`, which it does not own. Views that a kernel makes take their device
/// from their storage, so an alias cannot share ours. A kernel that lets it grow gets CPU memory
/// for it.
c10::Storage make_alias_storage(const c10::StorageImpl& source, void* data);

/// A CPU tensor over `storage` that is like `source` in all else: sizes, strides, offset, dtype,
/// and the conj, neg and zero-tensor bits. It has no autograd keys and no version counter: nothing
/// may record it.
at::Tensor make_alias_tensor(const at::Tensor& source, c10::Storage storage);

/// The same for a tensor of another kind (quantized, nested), whose class is kept. `storage` may be
/// null.
at::Tensor make_special_alias(const at::Tensor& source, c10::Storage storage);

}  // namespace outback::ops
