// Chooses the kernel that serves scaled_dot_product_attention.
//
// The choice depends on sizes, strides, dtypes and requires_grad, and on no element. So it is made
// on the tensors as they are, without lending: while a program is traced they are fake tensors or
// functorch's wrappers, which have no memory.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <c10/core/DispatchKey.h>

#include "backend_template/ops/in_place/cpu_kernels/stubs.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

// True if the vendor has a kernel for the operator that PyTorch reserves for a backend's attention.
// Asks on each call, since a vendor's library may be loaded after the registration.
bool has_fused_attention() {
  static const std::optional<c10::OperatorHandle> fused =
      registrar::find("_scaled_dot_product_fused_attention_overrideable", "");
  return fused && fused->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1);
}

// Returns the vendor's attention if there is one, else what the CPU would choose, since the CPU's
// kernels run then.
int64_t sdp_choice(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                   const std::optional<at::Tensor>& mask, double dropout_p, bool is_causal,
                   std::optional<double> scale, bool enable_gqa) {
  const bool is_dense = !query.is_nested() && !key.is_nested() && !value.is_nested();
  if (is_dense && has_fused_attention() && at::globalContext().userEnabledOverrideableSDP()) {
    return static_cast<int64_t>(sdp::SDPBackend::overrideable);
  }
  return at::native::_fused_sdp_choice_stub(c10::kCPU, query, key, value, mask, dropout_p,
                                            is_causal, scale, enable_gqa);
}

}  // namespace

void register_attention(registrar& to) {
  fill_stub<at::native::_fused_sdp_choice_stub>(&sdp_choice);
  to.add<&sdp_choice>("_fused_sdp_choice");
}

}  // namespace outback::ops
