// softmax and log_softmax with their derivatives, and layer normalization: torch's kernels for the
// CPU work on pointers if their arguments are contiguous, so they run in place. The derivative of
// layer normalization zeroes a tensor on the way, which is an operator, so it takes aliases
// (common_operators.cpp).
#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm(const at::Tensor& input,
                                                          c10::SymIntArrayRef shape,
                                                          const std::optional<at::Tensor>& weight,
                                                          const std::optional<at::Tensor>& bias,
                                                          double eps) {
  return at::native::layer_norm_cpu(input, C10_AS_INTARRAYREF_SLOW(shape), weight, bias, eps);
}

}  // namespace

void register_normalizations(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;
  constexpr native_rules contiguous{.contiguous = true};

  add_structured<ops::_softmax, structured_softmax_cpu_out, contiguous>(to);
  add_structured<ops::_log_softmax, structured_log_softmax_cpu_out, contiguous>(to);
  add_structured<ops::_softmax_backward_data, structured_softmax_backward_cpu_out, contiguous>(to);
  add_structured<ops::_log_softmax_backward_data, structured_log_softmax_backward_cpu_out,
                 contiguous>(to);
  add_native<ops::native_layer_norm, &outback::ops::layer_norm, contiguous>(to);
}

}  // namespace outback::ops
