// Layer normalization: torch's kernel makes its results where its input is and fills them through
// pointers.
#include <ATen/core/Tensor.h>
#include <ATen/ops/native_layer_norm_backward_native.h>
#include <ATen/ops/native_layer_norm_backward_ops.h>
#include <ATen/ops/native_layer_norm_native.h>
#include <ATen/ops/native_layer_norm_ops.h>

#include <array>
#include <optional>
#include <tuple>

#include "backend_template/ops/native/native.h"
#include "backend_template/ops/native/structured.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

using three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using optional_tensor = std::optional<at::Tensor>;

template <class... Others>
bool runs_on_pointers(const at::Tensor& first, const Others&... others) {
  return is_ours(first) && is_like(first, first) && (is_like(first, others) && ...) && ready(first);
}

three layer_norm(const at::Tensor& input, c10::SymIntArrayRef shape, const optional_tensor& weight,
                 const optional_tensor& bias, double eps) {
  if (!runs_on_pointers(input, weight, bias)) {
    return unboxed_kernel<at::_ops::native_layer_norm>::run(input, shape, weight, bias, eps);
  }
  return at::native::layer_norm_cpu(input, C10_AS_INTARRAYREF_SLOW(shape), weight, bias, eps);
}

three layer_norm_backward(const at::Tensor& grad, const at::Tensor& input,
                          c10::SymIntArrayRef shape, const at::Tensor& mean, const at::Tensor& rstd,
                          const optional_tensor& weight, const optional_tensor& bias,
                          std::array<bool, 3> wanted) {
  if (!runs_on_pointers(grad, input, mean, rstd, weight, bias)) {
    return unboxed_kernel<at::_ops::native_layer_norm_backward>::run(grad, input, shape, mean, rstd,
                                                                     weight, bias, wanted);
  }
  return at::native::layer_norm_backward_cpu(grad, input, C10_AS_INTARRAYREF_SLOW(shape), mean,
                                             rstd, weight, bias, wanted);
}

}  // namespace

void register_layer_norm(registrar& to) {
  to.add<&layer_norm>("native_layer_norm");
  to.add<&layer_norm_backward>("native_layer_norm_backward");
}

}  // namespace outback::ops
