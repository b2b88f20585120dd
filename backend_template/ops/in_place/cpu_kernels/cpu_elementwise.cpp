#include "backend_template/ops/in_place/cpu_kernels/cpu_elementwise.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/Activation.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/add_native.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/clamp_min_native.h>
#include <ATen/ops/clamp_min_ops.h>
#include <ATen/ops/cos_native.h>
#include <ATen/ops/cos_ops.h>
#include <ATen/ops/div_native.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/exp_native.h>
#include <ATen/ops/exp_ops.h>
#include <ATen/ops/log_native.h>
#include <ATen/ops/log_ops.h>
#include <ATen/ops/maximum_native.h>
#include <ATen/ops/maximum_ops.h>
#include <ATen/ops/minimum_native.h>
#include <ATen/ops/minimum_ops.h>
#include <ATen/ops/mul_native.h>
#include <ATen/ops/mul_ops.h>
#include <ATen/ops/neg_native.h>
#include <ATen/ops/neg_ops.h>
#include <ATen/ops/reciprocal_native.h>
#include <ATen/ops/reciprocal_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/rsqrt_native.h>
#include <ATen/ops/rsqrt_ops.h>
#include <ATen/ops/sigmoid_backward_native.h>
#include <ATen/ops/sigmoid_backward_ops.h>
#include <ATen/ops/sigmoid_native.h>
#include <ATen/ops/sigmoid_ops.h>
#include <ATen/ops/silu_backward_native.h>
#include <ATen/ops/silu_backward_ops.h>
#include <ATen/ops/silu_native.h>
#include <ATen/ops/silu_ops.h>
#include <ATen/ops/sin_native.h>
#include <ATen/ops/sin_ops.h>
#include <ATen/ops/sqrt_native.h>
#include <ATen/ops/sqrt_ops.h>
#include <ATen/ops/sub_native.h>
#include <ATen/ops/sub_ops.h>
#include <ATen/ops/tanh_backward_native.h>
#include <ATen/ops/tanh_backward_ops.h>
#include <ATen/ops/tanh_native.h>
#include <ATen/ops/tanh_ops.h>
#include <ATen/ops/threshold_backward_native.h>
#include <ATen/ops/threshold_backward_ops.h>

#include "backend_template/ops/in_place/cpu_kernels/cpu_kernels.h"
#include "backend_template/ops/in_place/cpu_kernels/stubs.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

// relu has no structured kernel of its own: torch computes it as clamp_min with 0.
at::Tensor relu(const at::Tensor& self) {
  if (!c10::isFloatingType(self.scalar_type())) return unboxed_kernel<at::_ops::relu>::run(self);
  return elementwise<at::native::structured_clamp_min_out, at::_ops::clamp_min>::run(self, 0);
}

at::Tensor& relu_(at::Tensor& self) {
  if (!c10::isFloatingType(self.scalar_type())) return unboxed_kernel<at::_ops::relu_>::run(self);
  return elementwise<at::native::structured_clamp_min_out, at::_ops::clamp_min_>::run(self, 0);
}

template <class Kernel, class Operator>
void add_elementwise(registrar& to) {
  to.add<&elementwise<Kernel, Operator>::run>(Operator::name + 6, Operator::overload_name);
}

// Converts in one step, as the CPU's loops do: an integer that goes through double is rounded
// twice.
template <class To>
void convert(const at::Tensor& number, const at::Tensor& to) {
  *to.mutable_data_ptr<To>() = number.scalar_type() == c10::kLong
                                   ? static_cast<To>(*number.const_data_ptr<int64_t>())
                                   : static_cast<To>(*number.const_data_ptr<double>());
}

}  // namespace

at::Tensor number_like(const at::Tensor& first, const at::Tensor& number) {
  const c10::ScalarType from = number.scalar_type();
  const bool is_known = number.device().is_cpu() && (from == c10::kDouble || from == c10::kLong);
  const c10::ScalarType to = first.scalar_type();
  if (!is_known || (to != c10::kFloat && to != c10::kDouble)) return number;
  at::Tensor converted = at::detail::empty_cpu({}, to);
  if (to == c10::kFloat) {
    convert<float>(number, converted);
  } else {
    convert<double>(number, converted);
  }
  return converted;
}

void register_elementwise(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;

  // Each structured kernel needs the stub that it calls.
  fill_stub<add_stub>();  // sub calls it too, with a negative alpha
  add_elementwise<structured_ufunc_add_CPU, ops::add_Tensor>(to);
  add_elementwise<structured_ufunc_add_CPU, ops::add__Tensor>(to);
  add_elementwise<structured_sub_out, ops::sub_Tensor>(to);
  add_elementwise<structured_sub_out, ops::sub__Tensor>(to);
  fill_stub<mul_stub>();
  add_elementwise<structured_mul_out, ops::mul_Tensor>(to);
  add_elementwise<structured_mul_out, ops::mul__Tensor>(to);
  fill_stub<div_true_stub>();
  add_elementwise<structured_div_out, ops::div_Tensor>(to);
  add_elementwise<structured_div_out, ops::div__Tensor>(to);
  fill_stub<maximum_stub>();
  add_elementwise<structured_maximum_out, ops::maximum>(to);
  fill_stub<minimum_stub>();
  add_elementwise<structured_minimum_out, ops::minimum>(to);

  fill_stub<clamp_min_scalar_stub>();
  add_elementwise<structured_clamp_min_out, ops::clamp_min>(to);
  to.add<&relu>("relu");
  to.add<&relu_>("relu_");
  fill_stub<cos_stub>();
  add_elementwise<structured_cos_out, ops::cos>(to);
  fill_stub<exp_stub>();
  add_elementwise<structured_exp_out, ops::exp>(to);
  fill_stub<log_stub>();
  add_elementwise<structured_log_out, ops::log>(to);
  fill_stub<neg_stub>();
  add_elementwise<structured_neg_out, ops::neg>(to);
  fill_stub<reciprocal_stub>();
  add_elementwise<structured_reciprocal_out, ops::reciprocal>(to);
  fill_stub<rsqrt_stub>();
  add_elementwise<structured_rsqrt_out, ops::rsqrt>(to);
  fill_stub<sigmoid_stub>();
  add_elementwise<structured_sigmoid_out, ops::sigmoid>(to);
  fill_stub<silu_stub>();
  add_elementwise<structured_silu_out, ops::silu>(to);
  fill_stub<sin_stub>();
  add_elementwise<structured_sin_out, ops::sin>(to);
  fill_stub<sqrt_stub>();
  add_elementwise<structured_sqrt_out, ops::sqrt>(to);
  fill_stub<tanh_stub>();
  add_elementwise<structured_tanh_out, ops::tanh>(to);

  fill_stub<sigmoid_backward_stub>();
  add_elementwise<structured_sigmoid_backward_out, ops::sigmoid_backward>(to);
  fill_stub<silu_backward_stub>();
  add_elementwise<structured_silu_backward_out, ops::silu_backward>(to);
  fill_stub<tanh_backward_stub>();
  add_elementwise<structured_tanh_backward_out, ops::tanh_backward>(to);
  fill_stub<threshold_stub>();
  add_elementwise<structured_threshold_backward_out, ops::threshold_backward>(to);
}

}  // namespace outback::ops
