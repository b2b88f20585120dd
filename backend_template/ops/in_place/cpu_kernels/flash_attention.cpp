// The CPU's attention and its derivative, in place: both work on pointers. own/attention.cpp
// chooses them.
#include <ATen/core/Tensor.h>
#include <ATen/native/transformers/attention.h>

#include <cstring>
#include <optional>
#include <tuple>
#include <utility>

#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/own/factories.h"
#include "backend_template/ops/own/small_copy.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using attention_op = at::_ops::_scaled_dot_product_flash_attention_for_cpu;
using attention_backward_op = at::_ops::_scaled_dot_product_flash_attention_for_cpu_backward;

at::Tensor new_contiguous(at::IntArrayRef size, const at::Tensor& like) {
  return new_tensor(size, {}, like.scalar_type(), like.device());
}

at::Tensor new_zeros(at::IntArrayRef size, const at::Tensor& like) {
  at::Tensor made = new_contiguous(size, like);
  if (made.numel() != 0) std::memset(made.mutable_data_ptr(), 0, made.nbytes());
  return made;
}

// Does what torch's function does. That one makes zeros, and the kernel makes `grad_out`
// contiguous: both are operators, which may leave work on the stream. Shapes are (batch, heads,
// length, width) for an operator, and (batch, length, heads, width) for the kernel.
std::tuple<at::Tensor, at::Tensor, at::Tensor> attention_backward(
    const at::Tensor& grad_out, const at::Tensor& query, const at::Tensor& key,
    const at::Tensor& value, const at::Tensor& out, const at::Tensor& logsumexp, double dropout_p,
    bool is_causal, const std::optional<at::Tensor>& mask, std::optional<double> scale) {
  const auto for_kernel = [](const at::Tensor& tensor) { return tensor.transpose(1, 2); };
  const at::Tensor q = for_kernel(query), k = for_kernel(key), v = for_kernel(value);
  at::Tensor grad = for_kernel(grad_out);
  if (!grad.is_contiguous()) {
    const at::Tensor copy = new_contiguous(grad.sizes(), grad);
    copy_by_loop(copy, grad);
    grad = copy;
  }
  const at::Tensor grad_q = new_zeros(q.sizes(), q), grad_k = new_zeros(k.sizes(), k),
                   grad_v = new_zeros(v.sizes(), v);
  at::native::flash_attention_backward_kernel(c10::kCPU, grad_q, grad_k, grad_v, grad, q, k, v,
                                              for_kernel(out), for_kernel(logsumexp), dropout_p,
                                              is_causal, mask, scale);
  return {for_kernel(grad_q), for_kernel(grad_k), for_kernel(grad_v)};
}

}  // namespace

void register_flash_attention(registrar& to) {
  add_native<attention_op, &at::native::_scaled_dot_product_flash_attention_cpu>(to);
  add_native<attention_backward_op, &attention_backward>(to);
}

}  // namespace outback::ops
