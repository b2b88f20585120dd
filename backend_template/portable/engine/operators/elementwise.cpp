// Elementwise operators with a structured class of PyTorch's.
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

// The bodies that need no more than PyTorch's class: lists of torch's names. A body has the name of
// its operator.

// clang-format off
// Of floating-point values, in three variants: op, op_, op_out.
#define FOR_FLOATS(F) \
  F(acos, 1) F(acosh, 1) F(addcdiv, 3) F(asin, 1) F(asinh, 1) F(atan, 1) F(atan2, 2) F(atanh, 1) \
  F(cos, 1) F(cosh, 1) F(elu, 1) F(erf, 1) F(erfc, 1) F(exp, 1) \
  F(exp2, 1) F(expm1, 1) F(frac, 1) F(hardsigmoid, 1) F(hypot, 2) \
  F(leaky_relu, 1) F(lgamma, 1) F(log, 1) F(log10, 1) F(log1p, 1) F(log2, 1) \
  F(mish, 1) F(reciprocal, 1) F(rsqrt, 1) F(sigmoid, 1) F(silu, 1) F(sin, 1) \
  F(sinh, 1) F(sqrt, 1) F(tan, 1) F(tanh, 1)
#define FOR_ALL(F) F(heaviside, 2) F(neg, 1) F(sign, 1)
#define FOR_NUMBERS(F) F(addcmul, 3) F(clamp_max, 1) F(clamp_min, 1) F(threshold, 2)
// The bodies of special functions are called special_op.
#define FOR_FUNCTIONS(F) \
  F(digamma, 1) F(erfinv, 1) F(i0, 1) F(igamma, 2) F(igammac, 2) F(sinc, 1)
#define FOR_WHOLE_NUMBERS(F) F(gcd, 2) F(lcm, 2)
// Without a variant in place.
#define FOR_FLOATS_OUT(F) \
  F(hardshrink, 1) F(logaddexp, 2) F(logaddexp2, 2) F(softplus, 1) \
  F(softshrink, 1)
#define FOR_ALL_OUT(F) F(fmax, 2) F(fmin, 2) F(maximum, 2) F(minimum, 2)
#define FOR_TRUTH_OUT(F) F(isneginf, 1) F(isposinf, 1) F(signbit, 1)
#define FOR_SPECIALS(F) \
  F(airy_ai, 1) F(bessel_j0, 1) F(bessel_j1, 1) F(bessel_y0, 1) F(bessel_y1, 1) F(entr, 1) \
  F(erfcx, 1) F(i0e, 1) F(i1, 1) F(i1e, 1) F(log_ndtr, 1) F(modified_bessel_i0, 1) \
  F(modified_bessel_i1, 1) F(modified_bessel_k0, 1) F(modified_bessel_k1, 1) F(ndtri, 1) \
  F(scaled_modified_bessel_k0, 1) F(scaled_modified_bessel_k1, 1) F(spherical_bessel_j0, 1) \
  F(xlog1py, 2) F(zeta, 2) \
  F(chebyshev_polynomial_t, 2) F(chebyshev_polynomial_u, 2) F(chebyshev_polynomial_v, 2) \
  F(chebyshev_polynomial_w, 2) F(hermite_polynomial_h, 2) F(hermite_polynomial_he, 2) \
  F(laguerre_polynomial_l, 2) F(legendre_polynomial_p, 2) F(shifted_chebyshev_polynomial_t, 2) \
  F(shifted_chebyshev_polynomial_u, 2) F(shifted_chebyshev_polynomial_v, 2) \
  F(shifted_chebyshev_polynomial_w, 2)
// Of two tensors: op_Tensor, op__Tensor, op_out.
#define FOR_TENSORS(F) F(add, all) F(mul, all) F(sub, all) F(div, floats) \
  F(copysign, floats)
// The same, but op_Tensor_out and, for xlogy, op_OutTensor.
#define FOR_BITS(F) F(bitwise_and) F(bitwise_or) F(bitwise_xor)
#define FOR_COMPARISONS(F) F(eq) F(ge) F(gt) F(le) F(lt) F(ne)

constexpr auto floats = body::kind::floats;
constexpr auto all = body::kind::all;
constexpr auto any_number = body::kind::numbers;
constexpr auto integers = body::kind::integers;
constexpr auto whole_numbers = body::kind::whole_numbers;

#define OF_FLOATS(op, operands) constinit body op##_body(#op, operands, floats);
#define OF_FUNCTION(op, operands) constinit body op##_body("special_" #op, operands, floats);
#define OF_ALL(op, operands) constinit body op##_body(#op, operands);
#define OF_NUMBERS(op, operands) constinit body op##_body(#op, operands, any_number);
#define OF_WHOLE_NUMBERS(op, operands) constinit body op##_body(#op, operands, whole_numbers);
#define OF_TRUTH(op, operands) constinit body op##_body(#op, operands, all, true);
#define OF_TENSORS(op, kind) constinit body op##_body(#op, 2, kind, false, true);
#define OF_BITS(op) constinit body op##_body(#op, 2, integers);
#define OF_COMPARISON(op) constinit body op##_body(#op, 2, all, true);
FOR_FLOATS(OF_FLOATS)
FOR_FLOATS_OUT(OF_FLOATS)
FOR_FUNCTIONS(OF_FUNCTION)
FOR_SPECIALS(OF_FUNCTION)
FOR_ALL(OF_ALL)
FOR_ALL_OUT(OF_ALL)
FOR_NUMBERS(OF_NUMBERS)
FOR_WHOLE_NUMBERS(OF_WHOLE_NUMBERS)
FOR_TRUTH_OUT(OF_TRUTH)
FOR_TENSORS(OF_TENSORS)
FOR_BITS(OF_BITS)
FOR_COMPARISONS(OF_COMPARISON)
// clang-format on

constinit body sigmoid_backward_body("sigmoid_backward", 2, floats);
constinit body tanh_backward_body("tanh_backward", 2, floats);
constinit body silu_backward_body("silu_backward", 2, floats);
constinit body softplus_backward_body("softplus_backward", 2, floats);
constinit body hardsigmoid_backward_body("hardsigmoid_backward", 2, floats);
constinit body hardshrink_backward_body("shrink_backward", 2, floats);
constinit body lerp_body("lerp", 2, floats);
constinit body lerp_tensors_body("lerp_tensors", 3, floats);
constinit body bitwise_not_body("bitwise_not", 1, integers);
constinit body not_body("logical_not", 1, all, true);
constinit body shift_left_body("shift_left", 2, whole_numbers);
constinit body shift_right_body("shift_right", 2, whole_numbers);

// Bodies for integers and for floating-point types that have different names.
template <class Meta, body& of_floats, body& of_integers>
struct loop_by_type : Meta {
  template <class... Arguments>
  void impl(const Arguments&... arguments) {
    if (this->common_dtype() == c10::kBool) throw no_kernel();  // PyTorch refuses it
    numbers given;
    (given.take(arguments), ...);
    run_elementwise(*this, c10::isFloatingType(this->common_dtype()) ? of_floats : of_integers,
                    given);
  }
};

constinit body ceil_body("ceil", 1, floats);
constinit body floor_body("floor", 1, floats);
constinit body round_body("round", 1, floats);
constinit body trunc_body("trunc", 1, floats);
constinit body fmod_body("fmod", 2, any_number);
constinit body remainder_body("remainder", 2, any_number);
constinit body xlogy_body("special_xlogy", 2, floats);
constinit body pow_body("pow", 2, any_number);
constinit body pow_of_number_body("pow_of_number", 1, any_number);

constinit body div_floor_body("div_floor", 2, any_number, false, true);
constinit body div_trunc_body("div_trunc", 2, any_number, false, true);

struct division : at::meta::structured_div_Tensor_mode {
  void impl(const at::Tensor& /*self*/, const at::Tensor& /*other*/,
            std::optional<std::string_view> mode, const at::Tensor& /*out*/) {
    run_elementwise(*this, !mode ? div_body : *mode == "floor" ? div_floor_body : div_trunc_body);
  }
};

struct bitwise_not : at::meta::structured_bitwise_not {
  void impl(const at::Tensor& self, const at::Tensor& /*out*/) {
    run_elementwise(*this, self.scalar_type() == c10::kBool ? not_body : bitwise_not_body);
  }
};

constinit body clamp_body("clamp", 1, any_number);
constinit body clamp_tensors_body("clamp_tensors", 3, any_number);

struct clamp_by_numbers : at::meta::structured_clamp {
  void impl(const at::Tensor& /*self*/, at::OptionalScalarRef min, at::OptionalScalarRef max,
            const at::Tensor& /*out*/) {
    if (min && max) {
      run_elementwise(*this, clamp_body, numbers(min.get(), max.get()));
    } else if (min) {
      run_elementwise(*this, clamp_min_body, numbers(min.get()));
    } else {
      run_elementwise(*this, clamp_max_body, numbers(max.get()));
    }
  }
};

struct clamp_by_tensors : at::meta::structured_clamp_Tensor {
  void impl(const at::Tensor& /*self*/, at::OptionalTensorRef min, at::OptionalTensorRef max,
            const at::Tensor& /*out*/) {
    const bool by_both = min.has_value() && max.has_value();
    run_elementwise(*this, by_both           ? clamp_tensors_body
                           : min.has_value() ? maximum_body
                                             : minimum_body);
  }
};

// The number is an operand of PyTorch's iterator: the body takes no other.
template <class Meta, body& which>
struct comparison_with_number : Meta {
  template <class... Arguments>
  void impl(const Arguments&... /*arguments*/) {
    run_elementwise(*this, which);
  }
};

constinit body gelu_body("gelu", 1, floats);
constinit body gelu_tanh_body("gelu_tanh", 1, floats);
constinit body gelu_backward_body("gelu_backward", 2, floats);
constinit body gelu_tanh_backward_body("gelu_tanh_backward", 2, floats);

struct gelu : at::meta::structured_gelu {
  void impl(const at::Tensor& /*self*/, std::string_view approximate, const at::Tensor& /*out*/) {
    run_elementwise(*this, approximate == "tanh" ? gelu_tanh_body : gelu_body);
  }
};

struct gelu_backward : at::meta::structured_gelu_backward {
  void impl(const at::Tensor& /*grad*/, const at::Tensor& /*self*/, std::string_view approximate,
            const at::Tensor& /*grad_input*/) {
    run_elementwise(*this, approximate == "tanh" ? gelu_tanh_backward_body : gelu_backward_body);
  }
};

constinit body elu_backward_body("elu_backward", 2, floats);
constinit body elu_backward_of_result_body("elu_backward_of_result", 2, floats);

struct elu_backward : at::meta::structured_elu_backward {
  void impl(const at::Tensor& /*grad*/, const at::Scalar& alpha, const at::Scalar& scale,
            const at::Scalar& input_scale, bool is_result, const at::Tensor& /*self_or_result*/,
            const at::Tensor& /*grad_input*/) {
    run_elementwise(*this, is_result ? elu_backward_of_result_body : elu_backward_body,
                    numbers(alpha, scale, input_scale));
  }
};

constinit body round_decimals_body("round_decimals", 1, floats);

struct round_decimals : at::meta::structured_round_decimals {
  void impl(const at::Tensor& /*self*/, int64_t decimals, const at::Tensor& /*out*/) {
    const double power = std::pow(10.0, static_cast<double>(decimals < 0 ? -decimals : decimals));
    run_elementwise(*this, round_decimals_body, numbers(power, decimals < 0 ? 1.0 : 0.0));
  }
};

constinit body polygamma_body("special_polygamma", 1, floats);

struct polygamma : at::meta::structured_polygamma {
  void impl(int64_t n, const at::Tensor& /*self*/, const at::Tensor& /*out*/) {
    run_elementwise(*this, polygamma_body, numbers(static_cast<double>(n)));
  }
};

constinit body logit_backward_body("logit_backward", 2, floats);

struct logit_backward : at::meta::structured_logit_backward {
  void impl(const at::Tensor& /*grad*/, const at::Tensor& /*self*/, std::optional<double> eps,
            const at::Tensor& /*grad_input*/) {
    run_elementwise(*this, logit_backward_body, numbers(eps.value_or(-1.0)));
  }
};

constinit body nextafter_body("nextafter", 2, floats);

// What the body has to know of a type: the distance to the next number in the bits of the type that
// is computed in, the smallest number above 0, and the smallest normal one if that type has others.
template <class T>
numbers neighbours_of(double step, double smallest_normal = 0.0) {
  return numbers(step, static_cast<double>(std::numeric_limits<T>::denorm_min()), smallest_normal);
}

struct nextafter : at::meta::structured_nextafter {
  void impl(const at::Tensor& /*self*/, const at::Tensor& /*other*/, const at::Tensor& /*out*/) {
    switch (common_dtype()) {
      case c10::kFloat:
        return run_elementwise(*this, nextafter_body, neighbours_of<float>(1.0));
      case c10::kDouble:
        return run_elementwise(*this, nextafter_body, neighbours_of<double>(1.0));
      case c10::kBFloat16:
        return run_elementwise(*this, nextafter_body, neighbours_of<c10::BFloat16>(0x1p16));
      case c10::kHalf:
        return run_elementwise(*this, nextafter_body, neighbours_of<c10::Half>(0x1p13, 0x1p-14));
      default:
        throw no_kernel();
    }
  }
};

constinit body leaky_relu_backward_body("leaky_relu_backward", 2, floats);

template <class Meta, body& which>
using loop = loop_of<Meta, which>;

}  // namespace

void add_elementwise(ops::registrar& to) {
  using namespace at::meta;
  namespace ops = at::_ops;
#define ADD_THREE(op, operands) \
  add_structured<loop<structured_##op, op##_body>, ops::op, ops::op##_, ops::op##_out>(to);
#define ADD_TWO(op, operands) \
  add_structured<loop<structured_##op, op##_body>, ops::op, ops::op##_out>(to);
#define ADD_SPECIAL(op, operands)                                             \
  add_structured<loop<structured_special_##op, op##_body>, ops::special_##op, \
                 ops::special_##op##_out>(to);
#define ADD_TENSORS(op, kind)                                                                    \
  add_structured<loop<structured_##op##_Tensor, op##_body>, ops::op##_Tensor, ops::op##__Tensor, \
                 ops::op##_out>(to);
#define ADD_BITS(op)                                                                             \
  add_structured<loop<structured_##op##_Tensor, op##_body>, ops::op##_Tensor, ops::op##__Tensor, \
                 ops::op##_Tensor_out>(to);
#define ADD_COMPARISON(op)                                                                       \
  add_structured<loop<structured_##op##_Tensor, op##_body>, ops::op##_Tensor, ops::op##__Tensor, \
                 ops::op##_Tensor_out>(to);                                                      \
  add_structured<comparison_with_number<structured_##op##_Scalar, op##_body>, ops::op##_Scalar,  \
                 ops::op##__Scalar, ops::op##_Scalar_out>(to);
#define ADD_DERIVATIVE(op) \
  add_structured<loop<structured_##op, op##_body>, ops::op, ops::op##_grad_input>(to);
#define ADD_ROUNDING(op)                                                                   \
  add_structured<loop_by_type<structured_##op, op##_body, copy_body>, ops::op, ops::op##_, \
                 ops::op##_out>(to);
  FOR_FLOATS(ADD_THREE)
  FOR_FUNCTIONS(ADD_THREE)
  FOR_ALL(ADD_THREE)
  FOR_NUMBERS(ADD_THREE)
  FOR_WHOLE_NUMBERS(ADD_THREE)
  FOR_FLOATS_OUT(ADD_TWO)
  FOR_ALL_OUT(ADD_TWO)
  FOR_TRUTH_OUT(ADD_TWO)
  FOR_SPECIALS(ADD_SPECIAL)
  FOR_TENSORS(ADD_TENSORS)
  FOR_BITS(ADD_BITS)
  FOR_COMPARISONS(ADD_COMPARISON)
  ADD_DERIVATIVE(sigmoid_backward)
  ADD_DERIVATIVE(tanh_backward)
  ADD_DERIVATIVE(silu_backward)
  ADD_DERIVATIVE(softplus_backward)
  ADD_DERIVATIVE(hardsigmoid_backward)
  ADD_DERIVATIVE(hardshrink_backward)
  add_structured<loop<structured_threshold_backward, threshold_body>, ops::threshold_backward,
                 ops::threshold_backward_grad_input>(to);
  ADD_ROUNDING(ceil)
  ADD_ROUNDING(floor)
  ADD_ROUNDING(round)
  ADD_ROUNDING(trunc)

  add_structured<bitwise_not, ops::bitwise_not, ops::bitwise_not_, ops::bitwise_not_out>(to);
  add_structured<loop<structured_sgn, sign_body>, ops::sgn, ops::sgn_, ops::sgn_out>(to);
  add_structured<loop<structured_fmod_Tensor, fmod_body>, ops::fmod_Tensor, ops::fmod__Tensor,
                 ops::fmod_Tensor_out>(to);
  add_structured<loop<structured_remainder_Tensor, remainder_body>, ops::remainder_Tensor,
                 ops::remainder__Tensor, ops::remainder_Tensor_out>(to);
  add_structured<loop<structured_xlogy_Tensor, xlogy_body>, ops::xlogy_Tensor, ops::xlogy__Tensor,
                 ops::xlogy_OutTensor>(to);
  add_structured<division, ops::div_Tensor_mode, ops::div__Tensor_mode, ops::div_out_mode>(to);
  add_structured<clamp_by_numbers, ops::clamp, ops::clamp_, ops::clamp_out>(to);
  add_structured<clamp_by_tensors, ops::clamp_Tensor, ops::clamp__Tensor, ops::clamp_Tensor_out>(
      to);
  add_structured<loop<structured_clamp_min_Tensor, maximum_body>, ops::clamp_min_Tensor,
                 ops::clamp_min__Tensor, ops::clamp_min_Tensor_out>(to);
  add_structured<loop<structured_clamp_max_Tensor, minimum_body>, ops::clamp_max_Tensor,
                 ops::clamp_max__Tensor, ops::clamp_max_Tensor_out>(to);
  add_structured<loop<structured_pow_Tensor_Tensor, pow_body>, ops::pow_Tensor_Tensor,
                 ops::pow__Tensor, ops::pow_Tensor_Tensor_out>(to);
  add_structured<loop<structured_pow_Tensor_Scalar, pow_of_number_body>, ops::pow_Tensor_Scalar,
                 ops::pow__Scalar, ops::pow_Tensor_Scalar_out>(to);
  add_structured<loop<structured_lerp_Scalar, lerp_body>, ops::lerp_Scalar, ops::lerp__Scalar,
                 ops::lerp_Scalar_out>(to);
  add_structured<loop<structured_lerp_Tensor, lerp_tensors_body>, ops::lerp_Tensor,
                 ops::lerp__Tensor, ops::lerp_Tensor_out>(to);
  add_structured<loop<structured_bitwise_left_shift_Tensor, shift_left_body>,
                 ops::bitwise_left_shift_Tensor, ops::bitwise_left_shift__Tensor,
                 ops::bitwise_left_shift_Tensor_out>(to);
  add_structured<loop<structured_bitwise_right_shift_Tensor, shift_right_body>,
                 ops::bitwise_right_shift_Tensor, ops::bitwise_right_shift__Tensor,
                 ops::bitwise_right_shift_Tensor_out>(to);
  add_structured<round_decimals, ops::round_decimals, ops::round__decimals,
                 ops::round_decimals_out>(to);
  add_structured<polygamma, ops::polygamma, ops::polygamma_out>(to);
  add_structured<logit_backward, ops::logit_backward, ops::logit_backward_grad_input>(to);
  add_structured<nextafter, ops::nextafter, ops::nextafter_, ops::nextafter_out>(to);
  add_structured<gelu, ops::gelu, ops::gelu_, ops::gelu_out>(to);
  add_structured<gelu_backward, ops::gelu_backward, ops::gelu_backward_grad_input>(to);
  add_structured<elu_backward, ops::elu_backward, ops::elu_backward_grad_input>(to);
  add_structured<loop<structured_leaky_relu_backward, leaky_relu_backward_body>,
                 ops::leaky_relu_backward, ops::leaky_relu_backward_grad_input>(to);
  add_structured<loop<structured_softshrink_backward, hardshrink_backward_body>,
                 ops::softshrink_backward, ops::softshrink_backward_grad_input>(to);
}

}  // namespace outback::portable
