// The dense tensors that sparse tensors are made of.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/FunctionRef.h>

namespace outback::ops {

/// Sparse, of any layout: no storage of its own.
inline bool has_members(const c10::TensorImpl& tensor) {
  return tensor.key_set().has_any(
      c10::DispatchKeySet{c10::DispatchKey::Sparse, c10::DispatchKey::SparseCsr});
}

/// Calls `visit` with each dense tensor, which it may replace by one of the same shape.
void for_each_member(c10::TensorImpl& tensor, c10::function_ref<void(at::Tensor&)> visit);

/// Makes `to` hold what `from` holds: members, shape and state. Both are of one layout.
void copy_members(const c10::TensorImpl& from, c10::TensorImpl& to);

}  // namespace outback::ops
