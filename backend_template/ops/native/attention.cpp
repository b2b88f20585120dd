// scaled_dot_product_attention: the same choice of kernel as for CPU tensors, and then the same
// kernel.
#include <ATen/core/Tensor.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice.h>

#include "backend_template/ops/native/native.h"
#include "backend_template/ops/redispatch/cpu_call.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

int64_t sdp_choice(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                   const std::optional<at::Tensor>& mask, double dropout_p, bool is_causal,
                   std::optional<double> scale, bool enable_gqa) {
  cpu_call call;
  const at::Tensor query_alias = call.lend(query);
  const at::Tensor key_alias = call.lend(key);
  const at::Tensor value_alias = call.lend(value);
  const std::optional<at::Tensor> mask_alias = call.lend(mask);
  // Shapes decide, so there is no need to wait for the bytes.
  return at::_fused_sdp_choice(query_alias, key_alias, value_alias, mask_alias, dropout_p,
                               is_causal, scale, enable_gqa);
}

}  // namespace

void register_attention(registrar& /*to*/) {
  at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr(&sdp_choice);
}

}  // namespace outback::ops
