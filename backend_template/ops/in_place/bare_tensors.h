// Tensors that a target's kernel can take unchanged, without aliases. CUDA's kernels for lists of
// tensors allow this: they ask each tensor only for its sizes, dtype and pointer, and run on the
// current stream, which the two devices share. Lending a list costs more than launching such a
// kernel.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <optional>

#include "backend_template/core/twin/twin.h"
#include "backend_template/ops/tensors/dimension_names.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {

/// Returns true if `tensor` is on `device` and its memory has exactly its elements (it has
/// no conj or neg bit, for example). Its dtype and strides do not matter.
inline bool is_bare(c10::Device device, const at::Tensor& tensor) {
  return tensor.defined() && tensor.device() == device && is_plain(*tensor.unsafeGetTensorImpl()) &&
         !tensor.is_conj() && !tensor.is_neg() && !tensor._is_zerotensor() && !has_names(tensor);
}

/// Returns true if all tensors of the argument are bare. Returns true also for an absent tensor,
/// and for an argument that is not a tensor.
inline bool is_bare(c10::Device device, at::TensorList list) {
  return std::all_of(list.begin(), list.end(),
                     [&](const at::Tensor& tensor) { return is_bare(device, tensor); });
}
inline bool is_bare(c10::Device device, const std::optional<at::Tensor>& tensor) {
  return !tensor || is_bare(device, *tensor);
}
template <class Other>
bool is_bare(c10::Device /*device*/, const Other& /*not a tensor*/) {
  return true;
}

/// Returns true if the kernels for lists that serve `device`, a device of this backend, take bare
/// tensors. This is known only of a CUDA twin's kernels.
inline bool takes_bare_lists(c10::Device device) {
  const auto twin = core::twin_of(device.index());
  return twin && twin->is_cuda();
}

}  // namespace outback::ops
