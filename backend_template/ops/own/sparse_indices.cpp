// The check of a sparse tensor's indices, which torch.load and check_invariants=True ask for. For
// coalesced ones torch 2.15 wants a kernel of the indices' device that numbers them, by a stub that
// no header of torch declares. So they are checked on the CPU.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_validate_sparse_coo_tensor_args.h>
#include <ATen/ops/_validate_sparse_coo_tensor_args_native.h>
#include <ATen/ops/zeros.h>

#include <optional>

#include "backend_template/core/runtime/torch_version.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

[[maybe_unused]] void validate(const at::Tensor& indices, const at::Tensor& values,
                               at::IntArrayRef size, std::optional<bool> is_coalesced,
                               std::optional<bool> check_pinning) {
  if (indices.device() != values.device()) {  // refused, in torch's words
    at::native::_validate_sparse_coo_tensor_args(indices, values, size, is_coalesced,
                                                 check_pinning);
    return;
  }
  // What the values are is not looked at.
  const at::Tensor shape_of_values =
      at::zeros({}, values.options().device(at::kCPU)).expand(values.sizes());
  at::_validate_sparse_coo_tensor_args(indices.cpu(), shape_of_values, size, is_coalesced,
                                       check_pinning);
}

}  // namespace

void register_sparse_indices([[maybe_unused]] registrar& to) {
#if OUTBACK_TORCH_AT_LEAST(2, 15)
  to.add<&validate>("_validate_sparse_coo_tensor_args");
#endif
}

}  // namespace outback::ops
