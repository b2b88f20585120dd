// Layer normalization: torch's kernel for the CPU makes its results on the device of its input and
// fills them through pointers, so it runs in place as it is. The kernel of its derivative zeroes a
// tensor on the way, which is an operator, so it takes aliases (common_operators.cpp).
#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using optional_tensor = std::optional<at::Tensor>;

three layer_norm(const at::Tensor& input, c10::SymIntArrayRef shape, const optional_tensor& weight,
                 const optional_tensor& bias, double eps) {
  const bool runs_on_pointers = is_ours(input) && is_like(input, input) && is_like(input, weight) &&
                                is_like(input, bias) && is_contiguous(input) &&
                                is_contiguous(weight) && is_contiguous(bias) && ready(input);
  if (!runs_on_pointers) {
    return unboxed_kernel<at::_ops::native_layer_norm>::run(input, shape, weight, bias, eps);
  }
  return at::native::layer_norm_cpu(input, C10_AS_INTARRAYREF_SLOW(shape), weight, bias, eps);
}

}  // namespace

void register_layer_norm(registrar& to) {
  to.add<&layer_norm>("native_layer_norm");
}

}  // namespace outback::ops
