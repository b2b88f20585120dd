// Tensors that a kernel of a target can take as they are, without aliases. CUDA's kernels for lists
// of tensors are such kernels: they ask each tensor for its sizes, dtype and pointer, and run on
// the current stream, which is ours. Lending a list costs more than launching such a kernel.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <algorithm>
#include <optional>

#include "backend_template/core/twin/twin.h"
#include "backend_template/ops/tensors/dimension_names.h"
#include "backend_template/ops/tensors/tensor_fields.h"

namespace outback::ops {

/// True if `tensor` is of `device` and its elements are those in its memory. Of any dtype and
/// strides.
inline bool is_bare(c10::Device device, const at::Tensor& tensor) {
  return tensor.defined() && tensor.device() == device && is_plain(*tensor.unsafeGetTensorImpl()) &&
         !tensor.is_conj() && !tensor.is_neg() && !tensor._is_zerotensor() && !has_names(tensor);
}

/// True if all are, if there is one, and for an argument that is no tensor.
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

/// True if the kernels for lists that serve `device`, which is ours, take bare tensors. It is not
/// known of other twins' than CUDA.
inline bool takes_bare_lists(c10::Device device) {
  const auto twin = core::twin_of(device.index());
  return twin && twin->is_cuda();
}

}  // namespace outback::ops
