// Attention, composed of other operators: scaled_dot_product_attention, and the layers that
// nn.MultiheadAttention and nn.TransformerEncoderLayer call for inference.
#include <ATen/Context.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>
#include <ATen/ops/_native_multi_head_attention_native.h>
#include <ATen/ops/_native_multi_head_attention_ops.h>
#include <ATen/ops/_safe_softmax_native.h>
#include <ATen/ops/_safe_softmax_ops.h>
#include <ATen/ops/_transform_bias_rescale_qkv_ops.h>
#include <ATen/ops/_transformer_encoder_layer_fwd_native.h>
#include <ATen/ops/_transformer_encoder_layer_fwd_ops.h>

#include <cmath>
#include <tuple>

#include "backend_template/ops/on_pointers/stubs.h"
#include "backend_template/portable/engine/device.h"
#include "backend_template/portable/engine/next.h"
#include "backend_template/portable/engine/operator.h"
#include "backend_template/portable/engine/operators.h"

namespace outback::portable {
namespace {

using choice = at::_ops::_fused_sdp_choice;

// Where the choice is the CPU's flash attention, which would run over copies, torch composes
// attention of operators that have portable kernels. Reads no memory, since tensors are fake ones
// while a program is traced.
int64_t choose(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
               const std::optional<at::Tensor>& mask, double dropout_p, bool is_causal,
               std::optional<double> scale, bool enable_gqa) {
  const int64_t theirs =
      next<choice>::call(query, key, value, mask, dropout_p, is_causal, scale, enable_gqa);
  const bool is_over_copies = theirs == static_cast<int64_t>(sdp::SDPBackend::flash_attention) &&
                              serves(query.device().index());
  return is_over_copies && at::globalContext().userEnabledMathSDP()
             ? static_cast<int64_t>(sdp::SDPBackend::math)
             : theirs;
}

// From qkv, [batch, length, 3 * width], three tensors [batch, heads, length, width / heads].
std::tuple<at::Tensor, at::Tensor, at::Tensor> heads_of(const at::Tensor& qkv,
                                                        const at::Tensor& bias, int64_t heads) {
  // What the CPU's kernel refuses.
  if (qkv.dim() != 3 || heads < 1 || qkv.size(2) % (3 * heads) != 0) throw no_kernel();
  const int64_t width = qkv.size(2) / 3 / heads;
  const at::Tensor all = qkv.add(bias)
                             .view({qkv.size(0), qkv.size(1), 3, heads, width})
                             .permute({2, 0, 3, 1, 4})
                             .contiguous();
  return {all.select(0, 0).mul_(1 / std::sqrt(static_cast<double>(width))), all.select(0, 1),
          all.select(0, 2)};
}

}  // namespace

void add_attention(ops::registrar& to) {
  // torch calls the stub; a program may call the operator.
  ops::fill_stub<at::native::_fused_sdp_choice_stub>(&choose);
  to.add<choice, &choose>();
  // torch's compositions, which are registered as kernels of the CPU.
  add<at::_ops::_safe_softmax, &at::native::_safe_softmax>(to);
  add<at::_ops::_native_multi_head_attention, &at::native::native_multi_head_attention_cpu>(to);
  add<at::_ops::_transformer_encoder_layer_fwd, &at::native::transformer_encoder_layer_forward>(to);
  add<at::_ops::_transform_bias_rescale_qkv, &heads_of>(to);
}

}  // namespace outback::portable
