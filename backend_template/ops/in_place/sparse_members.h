// The members of a sparse tensor: dense tensors for its indices and values. A sparse tensor is lent
// and taken back member by member.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/FunctionRef.h>

namespace outback::ops {

/// Returns true for a sparse tensor of any layout. Such a tensor has members instead of a storage.
inline bool has_members(const c10::TensorImpl& tensor) {
  return tensor.key_set().has_any(
      c10::DispatchKeySet{c10::DispatchKey::Sparse, c10::DispatchKey::SparseCsr});
}

/// Calls `visit` with each member of `tensor`, for which `has_members` is true. `visit` may replace
/// a member by a tensor of the same shape.
void for_each_member(c10::TensorImpl& tensor, c10::function_ref<void(at::Tensor&)> visit);

/// Gives `to` the members of `from` (the same tensors, not copies), its shape, and its coalesced
/// flag. Both must have the same layout.
void copy_members(const c10::TensorImpl& from, c10::TensorImpl& to);

}  // namespace outback::ops
