#include "registration/in_place.h"

#include <torch/csrc/autograd/variable.h>

#include <mutex>

namespace outback::registration {

void become(const at::Tensor& tensor, const at::Tensor& moved) {
  tensor.unsafeGetTensorImpl()->shallow_copy_from(moved.getIntrusivePtr());
  // The node that collects a leaf's gradient remembers the device of the leaf at its birth.
  torch::autograd::AutogradMeta* const meta = torch::autograd::impl::get_autograd_meta(tensor);
  if (meta == nullptr) return;
  const std::lock_guard lock(meta->mutex_);
  meta->grad_accumulator_.reset();
}

}  // namespace outback::registration
