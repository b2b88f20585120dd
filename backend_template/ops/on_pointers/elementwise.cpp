#include "backend_template/ops/on_pointers/elementwise.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ScalarOps.h>
#include <ATen/native/Activation.h>
#include <ATen/native/BinaryOps.h>
#include <ATen/native/Cross.h>
#include <ATen/native/Lerp.h>
#include <ATen/native/PointwiseOps.h>
#include <ATen/native/Pow.h>
#include <ATen/native/RangeFactories.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/native/UnaryOps.h>
#include <ATen/ops/empty.h>

#include "backend_template/ops/on_pointers/stubs.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

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

// A complex tensor of two real ones. torch's function would call its out= variant as an operator.
template <auto* fill>
at::Tensor from_parts(const at::Tensor& first, const at::Tensor& second) {
  const c10::ScalarType dtype = c10::toComplexType(first.scalar_type());
  at::Tensor result = at::empty({0}, first.options().dtype(dtype));
  fill(first, second, result);
  return result;
}

template <class Kernel, class... Operators>
void add_elementwise(registrar& to) {
  (to.add<Operators, &elementwise<Kernel, Operators>::run>(), ...);
}

template <class Kernel, class... Operators>
void add_elementwise_out(registrar& to) {
  (to.add<Operators, &elementwise_out<Kernel, Operators>::run>(), ...);
}

// x < 2: the number in the dtype of x, and then x < y.
template <class Kernel, class OfTensors, class Operator>
at::Tensor compare(const at::Tensor& self, const at::Scalar& other) {
  const bool is_real = other.isFloatingPoint() || other.isIntegral(/*includeBool=*/false);
  if (!is_real || !is_ours(self) || !fits(self, self) || !ready(self)) {
    return unboxed_kernel<Operator>::run(self, other);
  }
  const at::Tensor number = number_like(self, c10::scalar_to_tensor(other));
  return fits(self, number) ? elementwise<Kernel, OfTensors>::run(self, number)
                            : unboxed_kernel<Operator>::run(self, other);
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

C10_NOINLINE bool fits(const at::Tensor& first, const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return is_plain(impl) && !tensor.is_neg() && !has_names(tensor) &&
         impl.dtype() == first.dtype() &&
         (impl.device() == first.device() || (impl.is_cpu() && impl.dim() == 0));
}

C10_NOINLINE bool fits_at(named_operator& op, size_t i, const at::Tensor& first,
                          const at::Tensor& tensor) {
  return fits(first, tensor) &&
         !(tensor.is_cpu() && op.known().mixing_at(uint64_t{1} << i) == mixing::no_scalars);
}

C10_NOINLINE c10::MaybeOwned<at::Tensor> adapted(const at::Tensor& first, const at::Tensor& other) {
  const bool is_number = other.unsafeGetTensorImpl()->is_wrapped_number();
  return C10_LIKELY(!is_number) ? c10::MaybeOwned<at::Tensor>::borrowed(other)
                                : c10::MaybeOwned<at::Tensor>::owned(number_like(first, other));
}

C10_NOINLINE bool has_size_of(const at::Tensor& first, const at::Tensor& other) {
  return other.sizes() == first.sizes() || other.dim() == 0;
}

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

// Each structured kernel needs the stub that it calls. The lists are of torch's names.

// clang-format off
// The forms `op` and `op_`.
#define OUTBACK_BOTH(op) \
  fill_stubs<op##_stub>(); add_elementwise<structured_##op##_out, ops::op, ops::op##_>(to);
// `op` alone.
#define OUTBACK_ALONE(op) \
  fill_stubs<op##_stub>(); add_elementwise<structured_##op##_out, ops::op>(to);
// Of tensors, where numbers have an overload of their own.
#define OUTBACK_TENSORS(op) \
  fill_stubs<op##_stub>(); \
  add_elementwise<structured_##op##_out, ops::op##_Tensor, ops::op##__Tensor>(to);
// Of tensors alone, and without `special_` in the stub's name.
#define OUTBACK_SPECIAL(op) \
  fill_stubs<op##_stub>(); \
  add_elementwise<structured_special_##op##_out, ops::special_##op>(to);
// Not structured, but a TensorIterator over a stub; torch composes the other variants of out=.
#define OUTBACK_ONLY_OUT(op) \
  fill_stubs<op##_stub>(); \
  add_native<ops::op##_out, &op##_out, native_rules{.to_mask = true}>(to);
#define OUTBACK_COMPARE(op) \
  fill_stubs<op##_stub>(); add_elementwise<structured_##op##_Tensor_out, ops::op##_Tensor>(to); \
  to.add<ops::op##_Scalar, \
         &compare<structured_##op##_Tensor_out, ops::op##_Tensor, ops::op##_Scalar>>();

#define OUTBACK_FOR_BOTH(F) \
  F(acos) F(acosh) F(addcdiv) F(addcmul) F(asin) F(asinh) F(atan) F(atan2) F(atanh) F(ceil) \
  F(cos) F(cosh) F(digamma) F(elu) F(erf) F(erfc) F(erfinv) F(exp) F(exp2) F(expm1) F(floor) \
  F(frac) F(hardsigmoid) F(heaviside) F(hypot) F(i0) F(igamma) F(igammac) F(leaky_relu) \
  F(lgamma) F(log) F(log10) F(log1p) F(log2) F(mish) F(neg) F(nextafter) F(reciprocal) \
  F(round) F(rsqrt) F(sgn) F(sigmoid) F(sign) F(silu) F(sin) F(sinc) F(sinh) F(sqrt) F(tan) \
  F(tanh) F(threshold) F(trunc)
#define OUTBACK_FOR_ALONE(F) \
  F(fmax) F(fmin) F(hardshrink) F(isneginf) F(isposinf) F(logaddexp) F(logaddexp2) F(maximum) F(minimum) \
  F(sigmoid_backward) F(signbit) F(silu_backward) F(softplus) F(softshrink) \
  F(special_airy_ai) F(special_bessel_j0) F(special_bessel_j1) F(special_bessel_y0) \
  F(special_bessel_y1) F(special_entr) F(special_erfcx) F(special_i0e) F(special_i1) \
  F(special_i1e) F(special_log_ndtr) F(special_modified_bessel_i0) \
  F(special_modified_bessel_i1) F(special_modified_bessel_k0) F(special_modified_bessel_k1) \
  F(special_ndtri) F(special_scaled_modified_bessel_k0) F(special_scaled_modified_bessel_k1) \
  F(special_spherical_bessel_j0) F(tanh_backward)
#define OUTBACK_FOR_SPECIALS(F) \
  F(chebyshev_polynomial_t) F(chebyshev_polynomial_u) F(chebyshev_polynomial_v) \
  F(chebyshev_polynomial_w) F(hermite_polynomial_h) F(hermite_polynomial_he) \
  F(laguerre_polynomial_l) F(legendre_polynomial_p) F(shifted_chebyshev_polynomial_t) \
  F(shifted_chebyshev_polynomial_u) F(shifted_chebyshev_polynomial_v) \
  F(shifted_chebyshev_polynomial_w) F(xlog1py) F(zeta)
#define OUTBACK_FOR_ONLY_OUT(F) \
  F(abs) F(angle) F(logical_and) F(logical_not) F(logical_or) F(logical_xor) F(nan_to_num)
#define OUTBACK_FOR_TENSORS(F) F(copysign) F(fmod) F(mul) F(remainder) F(xlogy)
#define OUTBACK_FOR_COMPARE(F) F(eq) F(ge) F(gt) F(le) F(lt) F(ne)
// clang-format on

void register_elementwise(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;

  OUTBACK_FOR_BOTH(OUTBACK_BOTH)
  OUTBACK_FOR_ALONE(OUTBACK_ALONE)
  OUTBACK_FOR_TENSORS(OUTBACK_TENSORS)
  OUTBACK_FOR_COMPARE(OUTBACK_COMPARE)
  OUTBACK_FOR_SPECIALS(OUTBACK_SPECIAL)
  OUTBACK_FOR_ONLY_OUT(OUTBACK_ONLY_OUT)

  fill_stubs<add_stub, div_true_stub, div_floor_stub, div_trunc_stub, complex_stub, polar_stub,
             hardswish_stub, logit_stub, prelu_stub, arange_stub, linspace_stub, cross_stub,
             glu_stub, polygamma_stub, clamp_max_scalar_stub, clamp_min_scalar_stub,
             clamp_scalar_stub, clamp_stub, round_decimals_stub, lerp_kernel_scalar_weight,
             lerp_kernel_tensor_weight, pow_tensor_tensor_stub, pow_tensor_scalar_stub>();
  add_elementwise<structured_ufunc_add_CPU, ops::add_Tensor, ops::add__Tensor>(to);
  add_elementwise<structured_sub_out, ops::sub_Tensor, ops::sub__Tensor>(to);
  add_elementwise<structured_div_out, ops::div_Tensor, ops::div__Tensor>(to);
  add_elementwise<structured_div_out_mode, ops::div_Tensor_mode, ops::div__Tensor_mode>(to);
  add_elementwise_out<structured_ufunc_add_CPU, ops::add_out>(to);
  add_elementwise_out<structured_sub_out, ops::sub_out>(to);
  add_elementwise_out<structured_mul_out, ops::mul_out>(to);
  add_elementwise_out<structured_div_out, ops::div_out>(to);
  add_elementwise_out<structured_maximum_out, ops::maximum_out>(to);
  add_elementwise_out<structured_minimum_out, ops::minimum_out>(to);
  // Not structured, but a TensorIterator over a stub; or made of such operators.
  add_native<ops::angle, &angle>(to);
  add_native<ops::complex, &from_parts<complex_out>>(to);
  add_native<ops::polar, &from_parts<polar_out>>(to);
  add_native<ops::hardswish, &hardswish>(to);
  add_native<ops::hardswish_, &hardswish_>(to);
  add_native<ops::isnan, &isnan>(to);
  add_native<ops::logit, &logit>(to);
  add_native<ops::_prelu_kernel, &_prelu_kernel>(to);
  constexpr native_rules of_any_dtype{.contiguous = true, .any_dtype = true};
  add_native<ops::arange_start_out, &arange_out, of_any_dtype>(to);
  add_native<ops::linspace_out, &linspace_out, of_any_dtype>(to);
  add_structured<ops::linalg_cross, structured_linalg_cross_out>(to);
  add_structured<ops::glu, structured_glu_out>(to);
  add_structured<ops::polygamma, structured_polygamma_out>(to);
  add_native<ops::floor_divide, &floor_divide>(to);
  add_native<ops::rsub_Tensor, &rsub>(to);
  add_elementwise<structured_clamp_max_out, ops::clamp_max, ops::clamp_max_>(to);
  add_elementwise<structured_clamp_min_out, ops::clamp_min, ops::clamp_min_>(to);
  add_elementwise<structured_clamp_out, ops::clamp, ops::clamp_>(to);
  add_elementwise<structured_clamp_Tensor_out, ops::clamp_Tensor, ops::clamp__Tensor>(to);
  // They call the stubs of maximum and minimum.
  add_elementwise<structured_clamp_max_Tensor_out, ops::clamp_max_Tensor, ops::clamp_max__Tensor>(
      to);
  add_elementwise<structured_clamp_min_Tensor_out, ops::clamp_min_Tensor, ops::clamp_min__Tensor>(
      to);
  to.add<&relu>("relu");
  to.add<&relu_>("relu_");
  add_elementwise<structured_clamp_out, ops::hardtanh, ops::hardtanh_>(to);  // but for integers
  add_elementwise<structured_round_decimals_out, ops::round_decimals, ops::round__decimals>(to);
  add_elementwise<structured_lerp_Scalar, ops::lerp_Scalar, ops::lerp__Scalar>(to);
  add_elementwise<structured_lerp_Tensor, ops::lerp_Tensor, ops::lerp__Tensor>(to);
  add_elementwise<structured_pow_Tensor_Tensor_out, ops::pow_Tensor_Tensor>(to);
  add_elementwise<structured_pow_Tensor_Scalar_out, ops::pow_Tensor_Scalar>(to);
  add_elementwise<structured_threshold_backward_out, ops::threshold_backward>(to);
}

}  // namespace outback::ops
