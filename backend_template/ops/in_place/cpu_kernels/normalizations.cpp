// softmax and log_softmax with their derivatives, and layer normalization: torch's kernels for the
// CPU work on pointers if their arguments are contiguous, so they run in place.
#include <ATen/core/Tensor.h>

#include <ATen/native/group_norm.h>
#include <c10/util/accumulate.h>

#include <array>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/in_place/cpu_kernels/stubs.h"
#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/in_place/unboxed_kernel.h"
#include "backend_template/ops/own/factories.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace at::native {
// Of ATen/native/layer_norm.h, which one file cannot include together with group_norm.h: both call
// another type backward_fn. The numbers are those of rows and of columns.
using layer_norm_backward_fn = void (*)(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                        const Tensor&, int64_t, int64_t, Tensor*, Tensor*, Tensor*);
DECLARE_DISPATCH(layer_norm_backward_fn, LayerNormBackwardKernel)
}  // namespace at::native

namespace outback::ops {
namespace {

using layer_norm_backward_op = at::_ops::native_layer_norm_backward;

at::Tensor new_like(const at::Tensor& tensor) {
  return new_tensor(tensor.sizes(), {}, tensor.scalar_type(), tensor.device());
}

// Does what torch's layer_norm_backward_cpu does. The loops zero a tensor that they make like
// `input`, and zeroing is an operator: so of `input` they get an alias, and of all others pointers.
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(
    const at::Tensor& grad, const at::Tensor& input, c10::SymIntArrayRef normalized_shape,
    const at::Tensor& mean, const at::Tensor& rstd, const std::optional<at::Tensor>& weight,
    const std::optional<at::Tensor>& bias, std::array<bool, 3> wanted) {
  const at::Tensor gamma = weight.value_or(at::Tensor());
  const at::Tensor beta = bias.value_or(at::Tensor());
  const at::IntArrayRef normalized = C10_AS_INTARRAYREF_SLOW(normalized_shape);
  const int64_t columns = c10::multiply_integers(normalized);
  const auto has_columns = [&](const at::Tensor& of) { return of.sizes().equals(normalized); };
  const bool fits = input.numel() != 0 && input.dim() >= std::ssize(normalized) &&
                    input.sizes().slice(input.dim() - normalized.size()).equals(normalized) &&
                    (gamma.defined() ? has_columns(gamma) : !wanted[1]) &&
                    (beta.defined() ? has_columns(beta) : !wanted[2]);
  if (!fits) {  // which mostly is an error, and torch's function says which
    return unboxed_kernel<layer_norm_backward_op>::run(grad, input, normalized_shape, mean, rstd,
                                                       weight, bias, wanted);
  }
  std::array<at::Tensor, 3> made;
  if (wanted[0]) made[0] = new_like(input);
  if (wanted[1]) made[1] = new_like(gamma);
  if (wanted[2]) made[2] = new_like(beta);

  kernel_call call;
  const at::Tensor alias = call.lend(input);
  const operator_text& name = operator_of<layer_norm_backward_op>.text;
  call.begin(name);
  call.run(name, [&] {
    at::native::LayerNormBackwardKernel(c10::kCPU, grad, alias, mean, rstd, gamma,
                                        input.numel() / columns, columns, made.data(), &made[1],
                                        &made[2]);
  });
  return {std::move(made[0]), std::move(made[1]), std::move(made[2])};
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
  fill_stubs<GroupNormKernel>();
  add_plain<ops::native_group_norm, &native_group_norm, contiguous>(to);
  add_plain<ops::native_layer_norm, &layer_norm_cpu, contiguous>(to);
  add_native<layer_norm_backward_op, &layer_norm_backward, contiguous>(to);
}

}  // namespace outback::ops
