// What a CPU kernel made, as memory and tensors of the device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <cstddef>

namespace outback::ops {

/// `size` bytes of CPU memory as memory of `device`: the same memory where the device can use it,
/// else a copy.
c10::DataPtr adopt_memory(c10::DataPtr&& memory, size_t size, c10::Device device);

/// Makes `storage`, a CPU one that only one reference holds, a storage of `device`. In place: no
/// allocation.
void adopt_storage(c10::StorageImpl& storage, c10::Device device);

/// A storage of `device` over the memory of `storage` (or a copy of it), which others hold as well
/// and which lives on as long as the result.
c10::Storage share_storage(const c10::Storage& storage, c10::Device device);

/// Makes `tensor`, which nobody else sees, a tensor of `device`, where its storage is already. In
/// place.
void relabel(c10::TensorImpl& tensor, c10::Device device);

/// `view`, a CPU tensor whose storage is an alias of `source`'s, as a view of `source`.
at::Tensor as_view_of(const c10::TensorImpl& view, const c10::TensorImpl& source);

}  // namespace outback::ops
