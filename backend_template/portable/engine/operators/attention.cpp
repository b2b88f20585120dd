// scaled_dot_product_attention: which kernel serves it, and the softmax of torch's composition.
#include <ATen/Context.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>
#include <ATen/ops/_safe_softmax_native.h>
#include <ATen/ops/_safe_softmax_ops.h>

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

}  // namespace

void add_attention(ops::registrar& to) {
  // torch calls the stub; a program may call the operator.
  ops::fill_stub<at::native::_fused_sdp_choice_stub>(&choose);
  to.add<choice, &choose>();
  add<at::_ops::_safe_softmax, &at::native::_safe_softmax>(to);
}

}  // namespace outback::portable
