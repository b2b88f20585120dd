// Turns what a CPU kernel made into memory and tensors of the device. Where the device can use host
// memory (OUTBACK_ADDRESSES_HOST) the memory is adopted: it stays where it is and counts as the
// device's. Elsewhere it is copied.
//
// The functions that get memory throw c10::OutOfMemoryError, since adopted memory counts against
// the device's limit too. Adopting throws c10::Error while the device's current stream is
// capturing, since no replay would adopt again.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <cstddef>

namespace outback::ops {

/// Returns the `size` bytes of CPU memory `memory` as memory of `device`: the same memory where the
/// device can use it, else a copy that is enqueued on the device's current stream. Adopted memory
/// goes back to `memory`'s own deleter when no stream uses it any more.
c10::DataPtr adopt_memory(c10::DataPtr&& memory, size_t size, c10::Device device);

/// Makes `storage` a storage of `device`, in place: the StorageImpl stays the same object. It must
/// be a CPU storage with one reference, since nobody else may see it change its device.
void adopt_storage(c10::StorageImpl& storage, c10::Device device);

/// Returns a new storage of `device` over the memory of `storage`, a CPU storage that others hold
/// too, or over a copy of that memory. The result keeps `storage` alive while it uses its memory.
c10::Storage share_storage(const c10::Storage& storage, c10::Device device);

/// Makes `tensor` a tensor of `device`, in place: sets its device and its dispatch keys. Its
/// storage must be on `device` already, and nobody else may see the tensor.
void relabel(c10::TensorImpl& tensor, c10::Device device);

/// Returns a view of `source` with the sizes, strides, offset, dtype and conj and neg bits of
/// `view`. `view` is a CPU tensor whose storage is the alias of `source`'s storage: a CPU kernel
/// made it of an alias, and this is the same view on the device. It shares `source`'s storage.
at::Tensor as_view_of(const c10::TensorImpl& view, const c10::TensorImpl& source);

}  // namespace outback::ops
