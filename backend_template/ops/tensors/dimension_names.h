// Names of dimensions (`torch.ones(2, names=("N",))`), which torch supports up to 2.12. From 2.13
// on these functions do nothing, so that callers need no version check.
#pragma once

#include <ATen/core/TensorBase.h>
#include <c10/core/TensorImpl.h>

#include "backend_template/core/runtime/torch_version.h"

namespace outback::ops {

#if OUTBACK_TORCH_AT_LEAST(2, 13)

inline bool has_names(const at::TensorBase& /*tensor*/) {
  return false;
}

inline void take_names(const c10::TensorImpl& /*from*/, c10::TensorImpl& /*to*/) {}

#else

/// Returns true if a dimension of `tensor` has a name. The fast paths leave such tensors to
/// kernel_call, which carries the names over.
inline bool has_names(const at::TensorBase& tensor) {
  return tensor.unsafeGetTensorImpl()->has_named_tensor_meta();
}

/// Gives `to` a copy of the names of `from`, or removes its names if `from` has none.
inline void take_names(const c10::TensorImpl& from, c10::TensorImpl& to) {
  if (!from.has_named_tensor_meta() && !to.has_named_tensor_meta()) return;
  const c10::NamedTensorMetaInterface* const names = from.named_tensor_meta();
  to.set_named_tensor_meta(names == nullptr ? nullptr : names->clone());
}

#endif

}  // namespace outback::ops
