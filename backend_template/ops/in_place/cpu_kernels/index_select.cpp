// Elements by their indices. index_select, which embedding calls: torch's kernel for the CPU makes
// its result on the device of its input and works on pointers, so it runs in place as it is. It
// first makes a non-contiguous index contiguous, which is an operator: such calls take the alias.
// gather and x[i] are structured kernels over a dispatch stub; what they do before is views.
#include <ATen/core/Tensor.h>
#include <ATen/native/IndexKernel.h>
#include <ATen/native/TensorAdvancedIndexing.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "backend_template/core/streams/sync_debug.h"
#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/in_place/cpu_kernels/lent_call.h"
#include "backend_template/ops/in_place/cpu_kernels/stubs.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

at::Tensor gather(const at::Tensor& self, int64_t dim, const at::Tensor& index, bool sparse_grad) {
  if (!is_ours(self) || !is_like(self, self) || !is_index_of(self, index) || !ready(self)) {
    return unboxed_kernel<at::_ops::gather>::run(self, dim, index, sparse_grad);
  }
  kernel_on_device<at::native::structured_gather_out> kernel;
  kernel.meta(self, dim, index, sparse_grad);
  kernel.impl(self, dim, index, sparse_grad, kernel.outputs.tensor);
  return std::move(kernel.outputs.tensor);
}

// By integers only: a mask becomes indices first, which is an operator.
at::Tensor index(const at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices) {
  const bool are_indices = std::all_of(indices.begin(), indices.end(), [&](const auto& each) {
    const std::optional<at::Tensor> given = each;
    return !given || !given->defined() ||
           (given->scalar_type() == c10::kLong && is_index_of(self, *given));
  });
  // The alias's way tells the user of a wait, since a mask's result has a size that only its
  // elements tell.
  const bool is_watched = core::get_sync_debug_mode() != core::sync_debug_mode::off;
  if (!are_indices || is_watched || !is_ours(self) || !is_like(self, self) || !ready(self)) {
    return lent_call<at::_ops::index_Tensor>::run(self, indices);
  }
  kernel_on_device<at::native::structured_index_out> kernel;
  auto known = kernel.meta(self, at::IOptTensorListRef(indices));
  kernel.impl(self, known.sizes, known.strides, kernel.outputs.tensor);
  return std::move(kernel.outputs.tensor);
}

}  // namespace

void register_index_select(registrar& to) {
  add_native<at::_ops::index_select, &at::native::index_select_cpu_,
             native_rules{.contiguous = true, .indices = true}>(to);
  fill_stub<at::native::gather_stub>();
  to.add<&gather>("gather");
  fill_stub<at::native::index_stub>();
  to.add<&index>("index", "Tensor");
}

}  // namespace outback::ops
