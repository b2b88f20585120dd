// Elementwise operators that are no structured classes of PyTorch's: the iterators are built as its
// CPU functions build them.
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ScalarOps.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>

// Includes all of torch's operators, after the headers that they need and do not include.
#include <ATen/Functions.h>
#include <ATen/Operators.h>

#include <limits>
#include <optional>
#include <string_view>

#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/elementwise.h"
#include "backend_template/portable/engine/operator.h"
#include "backend_template/portable/engine/operators.h"

namespace outback::portable {
namespace {

constexpr auto floats = body::kind::floats;
constexpr auto all = body::kind::all;

constinit body abs_body("abs", 1);
constinit body relu_body("relu", 1);
constinit body isnan_body("isnan", 1, floats, true);
constinit body nan_to_num_body("nan_to_num", 1, floats);
constinit body hardswish_body("hardswish", 1, floats);
constinit body hardswish_backward_body("hardswish_backward", 2, floats);
constinit body hardtanh_backward_body("hardtanh_backward", 2, floats);
constinit body mish_backward_body("mish_backward", 2, floats);
constinit body prelu_body("prelu", 2, floats);
constinit body prelu_backward_body("prelu_backward", 3, floats);
constinit body prelu_backward_weight_body("prelu_backward_weight", 2, floats);
constinit body where_body("where", 3);
constinit body masked_fill_body("masked_fill", 2);
constinit body logical_not_body("logical_not", 1, all, true);
constinit body logical_and_body("logical_and", 2, all, true);
constinit body logical_or_body("logical_or", 2, all, true);
constinit body angle_body("angle", 1, floats);
constinit body logit_body("logit", 1, floats);
constinit body ldexp_body("ldexp", 2, floats);
constinit body frexp_mantissa_body("frexp_mantissa", 1, floats);
constinit body frexp_exponent_body("frexp_exponent", 1, floats);
constinit body logical_xor_body("logical_xor", 2, all, true);

at::Tensor unary(body& which, const at::Tensor& self, const numbers& given = {}) {
  at::Tensor out;
  at::TensorIterator elements = at::TensorIterator::unary_op(out, self);
  run_elementwise(elements, which, given);
  return elements.output();
}

at::Tensor& unary_out(body& which, const at::Tensor& self, at::Tensor& out,
                      const numbers& given = {}) {
  at::TensorIterator elements = at::TensorIterator::unary_op(out, self);
  run_elementwise(elements, which, given);
  return out;
}

at::Tensor binary(body& which, const at::Tensor& self, const at::Tensor& other,
                  const numbers& given = {}) {
  at::Tensor out;
  at::TensorIterator elements = at::TensorIterator::borrowing_binary_op(out, self, other);
  run_elementwise(elements, which, given);
  return elements.output();
}

at::Tensor& abs_out(const at::Tensor& self, at::Tensor& out) {
  if (self.scalar_type() == c10::kBool) throw no_kernel();
  return unary_out(abs_body, self, out);
}

at::Tensor relu(const at::Tensor& self) {
  if (self.scalar_type() == c10::kBool) throw no_kernel();
  return unary(relu_body, self);
}

at::Tensor& relu_(at::Tensor& self) {
  if (self.scalar_type() == c10::kBool) throw no_kernel();
  return unary_out(relu_body, self, self);
}

at::Tensor isnan(const at::Tensor& self) {
  at::Tensor out = at::empty_like(self, self.options().dtype(c10::kBool));
  if (!c10::isFloatingType(self.scalar_type())) return out.fill_(false);
  at::TensorIterator elements = at::TensorIteratorConfig()
                                    .check_all_same_dtype(false)
                                    .add_output(out)
                                    .add_const_input(self)
                                    .build();
  run_elementwise(elements, isnan_body, {}, self.scalar_type());
  return out;
}

template <class T>
numbers limits_or(std::optional<double> nan, std::optional<double> most,
                  std::optional<double> least) {
  using limits = std::numeric_limits<T>;
  return numbers(nan.value_or(0.0), most.value_or(static_cast<double>(limits::max())),
                 least.value_or(static_cast<double>(limits::lowest())));
}

at::Tensor& nan_to_num_out(const at::Tensor& self, std::optional<double> nan,
                           std::optional<double> most, std::optional<double> least,
                           at::Tensor& out) {
  TORCH_CHECK(self.scalar_type() == out.scalar_type(),
              "nan_to_num: dtype of out: ", out.scalar_type(),
              " should be same as input: ", self.scalar_type());
  switch (self.scalar_type()) {
    case c10::kFloat:
      return unary_out(nan_to_num_body, self, out, limits_or<float>(nan, most, least));
    case c10::kDouble:
      return unary_out(nan_to_num_body, self, out, limits_or<double>(nan, most, least));
    case c10::kHalf:
      return unary_out(nan_to_num_body, self, out, limits_or<c10::Half>(nan, most, least));
    case c10::kBFloat16:
      return unary_out(nan_to_num_body, self, out, limits_or<c10::BFloat16>(nan, most, least));
    default:
      at::native::resize_output(out, self.sizes());
      return out.copy_(self);
  }
}

at::Tensor hardswish(const at::Tensor& self) {
  return unary(hardswish_body, self);
}

at::Tensor& hardswish_(at::Tensor& self) {
  return unary_out(hardswish_body, self, self);
}

at::Tensor& hardswish_out(const at::Tensor& self, at::Tensor& out) {
  return unary_out(hardswish_body, self, out);
}

at::Tensor hardswish_backward(const at::Tensor& grad, const at::Tensor& self) {
  return binary(hardswish_backward_body, grad, self);
}

// Bounds of integers are integers, so that they change no dtype. PyTorch refuses bool and uint8.
at::Scalar bound_for(const at::Tensor& self, const at::Scalar& bound) {
  if (self.scalar_type() == c10::kBool || self.scalar_type() == c10::kByte) throw no_kernel();
  return c10::isFloatingType(self.scalar_type()) ? bound : at::Scalar(bound.toLong());
}

at::Tensor hardtanh(const at::Tensor& self, const at::Scalar& least, const at::Scalar& most) {
  return at::clamp(self, bound_for(self, least), bound_for(self, most));
}

at::Tensor& hardtanh_(at::Tensor& self, const at::Scalar& least, const at::Scalar& most) {
  return self.clamp_(bound_for(self, least), bound_for(self, most));
}

at::Tensor hardtanh_backward(const at::Tensor& grad, const at::Tensor& self,
                             const at::Scalar& least, const at::Scalar& most) {
  return binary(hardtanh_backward_body, grad, self, numbers(least, most));
}

at::Tensor mish_backward(const at::Tensor& grad, const at::Tensor& self) {
  return binary(mish_backward_body, grad, self);
}

at::Tensor prelu(const at::Tensor& self, const at::Tensor& weight) {
  return binary(prelu_body, self, weight);
}

std::tuple<at::Tensor, at::Tensor> prelu_backward(const at::Tensor& grad, const at::Tensor& self,
                                                  const at::Tensor& weight) {
  at::Tensor of_self;
  at::TensorIterator elements = at::TensorIteratorConfig()
                                    .add_output(of_self)
                                    .add_const_input(grad)
                                    .add_const_input(self)
                                    .add_const_input(weight)
                                    .build();
  run_elementwise(elements, prelu_backward_body, {}, self.scalar_type());
  return {elements.output(), binary(prelu_backward_weight_body, grad, self)};
}

at::Tensor subtracted_from(const at::Tensor& self, const at::Tensor& other,
                           const at::Scalar& alpha) {
  return at::sub(other, self, alpha);
}

at::Tensor floor_divide(const at::Tensor& self, const at::Tensor& other) {
  return at::div(self, other, "floor");
}

at::Tensor& floor_divide_(at::Tensor& self, const at::Tensor& other) {
  return self.div_(other, "floor");
}

at::Tensor power_of_number(const at::Scalar& base, const at::Tensor& exponent) {
  return at::pow(at::native::wrapped_scalar_tensor(base), exponent);
}

template <body& which>
at::Tensor& truth_of_two_out(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
  at::TensorIterator elements = at::TensorIterator::comparison_op(out, self, other);
  run_elementwise(elements, which);
  return out;
}

at::Tensor& logical_not_out(const at::Tensor& self, at::Tensor& out) {
  at::TensorIterator elements = at::TensorIteratorConfig()
                                    .check_all_same_dtype(false)
                                    .add_output(out)
                                    .add_const_input(self)
                                    .build();
  run_elementwise(elements, logical_not_body, {}, self.scalar_type());
  return out;
}

at::TensorIterator unary_float(body& which, const at::Tensor& self, at::Tensor out,
                               const numbers& given = {}) {
  at::TensorIterator elements = at::TensorIterator::unary_float_op(out, self);
  run_elementwise(elements, which, given);
  return elements;
}

at::Tensor angle(const at::Tensor& self) {
  return unary_float(angle_body, self, at::Tensor()).output();
}

at::Tensor& angle_out(const at::Tensor& self, at::Tensor& out) {
  unary_float(angle_body, self, out);
  return out;
}

at::Tensor logit(const at::Tensor& self, std::optional<double> eps) {
  return unary_float(logit_body, self, at::Tensor(), numbers(eps.value_or(-1.0))).output();
}

at::Tensor& logit_out(const at::Tensor& self, std::optional<double> eps, at::Tensor& out) {
  unary_float(logit_body, self, out, numbers(eps.value_or(-1.0)));
  return out;
}

at::Tensor& logit_(at::Tensor& self, std::optional<double> eps) {
  return logit_out(self, eps, self);
}

// Of real numbers.
at::Tensor& conj_physical_out(const at::Tensor& self, at::Tensor& out) {
  return unary_out(copy_body, self, out);
}

at::Tensor& conj_physical_(at::Tensor& self) {
  return self;
}

std::tuple<at::Tensor&, at::Tensor&> frexp_out(const at::Tensor& self, at::Tensor& mantissa,
                                               at::Tensor& exponent) {
  if (!self.is_floating_point() || mantissa.scalar_type() != self.scalar_type() ||
      exponent.scalar_type() != c10::kInt) {
    throw no_kernel();
  }
  at::TensorIterator exponents = at::TensorIteratorConfig()
                                     .check_all_same_dtype(false)
                                     .add_output(exponent)
                                     .add_const_input(self)
                                     .build();
  run_elementwise(exponents, frexp_exponent_body, {}, self.scalar_type());
  unary_out(frexp_mantissa_body, self, mantissa);
  return {mantissa, exponent};
}

// Whole exponents of floating-point numbers: 2^exponent may be out of range where the result is
// not.
bool is_exact_ldexp(const at::Tensor& self, const at::Tensor& exponent) {
  if (!self.is_floating_point() || c10::isFloatingType(exponent.scalar_type())) return false;
  if (exponent.scalar_type() == c10::kBool) throw no_kernel();
  return true;
}

at::Tensor& exact_ldexp_out(const at::Tensor& self, const at::Tensor& exponent, at::Tensor& out) {
  at::TensorIterator elements = at::TensorIteratorConfig()
                                    .check_all_same_dtype(false)
                                    .allow_cpu_scalars(true)
                                    .add_output(out)
                                    .add_const_input(self)
                                    .add_const_input(exponent)
                                    .build();
  run_elementwise(elements, ldexp_body, {}, self.scalar_type());
  return out;
}

// In the type that PyTorch takes for it.
at::Tensor power_of_two(const at::Tensor& self, const at::Tensor& exponent) {
  const c10::ScalarType dtype = self.scalar_type();
  if (c10::isIntegralType(dtype, true) || dtype == c10::kFloat) return at::pow(2.0, exponent);
  return at::full({}, 2.0, self.options()).pow(exponent);
}

at::Tensor ldexp(const at::Tensor& self, const at::Tensor& exponent) {
  if (!is_exact_ldexp(self, exponent)) return self.mul(power_of_two(self, exponent));
  const at::Tensor& of_device = ops::is_ours(self) ? self : exponent;
  at::Tensor out = at::empty({0}, of_device.options().dtype(self.scalar_type()));
  return exact_ldexp_out(self, exponent, out);
}

at::Tensor& ldexp_out(const at::Tensor& self, const at::Tensor& exponent, at::Tensor& out) {
  if (!c10::isFloatingType(out.scalar_type())) throw no_kernel();
  if (is_exact_ldexp(self, exponent) && out.scalar_type() == self.scalar_type()) {
    return exact_ldexp_out(self, exponent, out);
  }
  return at::mul_out(out, self, power_of_two(self, exponent));
}

// PyTorch's add_relu has no other types, and ends at the greatest number.
at::Scalar greatest_of(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::kChar:
      return std::numeric_limits<int8_t>::max();
    case c10::kShort:
      return std::numeric_limits<int16_t>::max();
    case c10::kInt:
      return std::numeric_limits<int32_t>::max();
    case c10::kLong:
      return std::numeric_limits<int64_t>::max();
    case c10::kFloat:
      return std::numeric_limits<float>::max();
    case c10::kDouble:
      return std::numeric_limits<double>::max();
    default:
      throw no_kernel();
  }
}

at::Tensor add_relu(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  const at::Scalar most = greatest_of(self.scalar_type());
  return at::add(self, other, alpha).clamp_(0, most);
}

at::Tensor& add_relu_(at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
  const at::Scalar most = greatest_of(self.scalar_type());
  return self.add_(other, alpha).clamp_(0, most);
}

at::Tensor& add_relu_out(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha,
                         at::Tensor& out) {
  const at::Scalar most = greatest_of(self.scalar_type());
  return at::add_out(out, self, other, alpha).clamp_(0, most);
}

// ---- Choices by a mask

at::Tensor& where_out(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other,
                      at::Tensor& out) {
  const c10::ScalarType dtype = at::result_type(self, other);
  // PyTorch warns of a condition that is no bool, and says which dtypes do not go together.
  if (condition.scalar_type() != c10::kBool || out.scalar_type() != dtype || !is_storable(dtype) ||
      !ops::is_ours(out)) {
    throw no_kernel();
  }
  // A TensorIterator takes one number of the CPU, and moves the other as torch.where does.
  const bool has_two_numbers = !ops::is_ours(self) && !ops::is_ours(other);
  const at::Tensor second =
      has_two_numbers ? at::full({}, other.item(), out.options().dtype(other.scalar_type()))
                      : other;
  at::TensorIterator elements = at::TensorIteratorConfig()
                                    .check_all_same_dtype(false)
                                    .allow_cpu_scalars(true)
                                    .add_output(out)
                                    .add_const_input(condition)
                                    .add_const_input(self)
                                    .add_const_input(second)
                                    .build();
  run_elementwise(elements, where_body, {}, dtype);
  return out;
}

at::Tensor where(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
  const at::Tensor& of_device = ops::is_ours(condition) ? condition
                                : ops::is_ours(self)    ? self
                                                        : other;
  at::Tensor out = at::empty({0}, of_device.options().dtype(at::result_type(self, other)));
  return where_out(condition, self, other, out);
}

at::TensorIterator masked(const at::Tensor& self, const at::Tensor& mask) {
  return at::TensorIteratorConfig()
      .set_check_mem_overlap(false)
      .check_all_same_dtype(false)
      .resize_outputs(false)
      .add_output(self)
      .add_const_input(self)
      .add_const_input(mask)
      .build();
}

at::Tensor& masked_fill_(at::Tensor& self, const at::Tensor& mask, const at::Scalar& value) {
  // What PyTorch refuses or warns of is the next provider's: other masks, a number that does not
  // fit, and memory that overlaps itself.
  if (!ops::is_ours(self) || !ops::is_ours(mask) || mask.scalar_type() != c10::kBool ||
      !at::is_expandable_to(mask.sizes(), self.sizes()) ||
      at::has_internal_overlap(self) != at::MemOverlap::No ||
      (value.isFloatingPoint() && !c10::isFloatingType(self.scalar_type())) ||
      !fits(value, self.scalar_type())) {
    throw no_kernel();
  }
  const c10::MaybeOwned<at::Tensor> expanded = at::expand_inplace(self, mask, "masked_fill_");
  at::TensorIterator elements = masked(self, *expanded);
  run_elementwise(elements, masked_fill_body, numbers(value), self.scalar_type());
  return self;
}

at::Tensor& masked_fill_by_tensor(at::Tensor& self, const at::Tensor& mask,
                                  const at::Tensor& value) {
  if (value.dim() != 0 || !ops::is_ours(value) || value.scalar_type() != self.scalar_type() ||
      mask.scalar_type() != c10::kBool || !ops::is_ours(mask) ||
      !at::is_expandable_to(mask.sizes(), self.sizes()) ||
      at::has_internal_overlap(self) != at::MemOverlap::No) {
    throw no_kernel();
  }
  const c10::MaybeOwned<at::Tensor> expanded = at::expand_inplace(self, mask, "masked_fill_");
  at::TensorIterator elements = at::TensorIteratorConfig()
                                    .set_check_mem_overlap(false)
                                    .check_all_same_dtype(false)
                                    .resize_outputs(false)
                                    .add_output(self)
                                    .add_const_input(*expanded)
                                    .add_const_input(value)
                                    .add_const_input(self)
                                    .build();
  run_elementwise(elements, where_body, {}, self.scalar_type());
  return self;
}

}  // namespace

void add_loops(ops::registrar& to) {
  namespace ops = at::_ops;
  add<ops::abs_out, &abs_out>(to);
  add<ops::relu, &relu>(to);
  add<ops::relu_, &relu_>(to);
  add<ops::isnan, &isnan>(to);
  add<ops::nan_to_num_out, &nan_to_num_out>(to);
  add<ops::hardswish, &hardswish>(to);
  add<ops::hardswish_, &hardswish_>(to);
  add<ops::hardswish_out, &hardswish_out>(to);
  add<ops::hardswish_backward, &hardswish_backward>(to);
  add<ops::hardtanh, &hardtanh>(to);
  add<ops::hardtanh_, &hardtanh_>(to);
  add<ops::hardtanh_backward, &hardtanh_backward>(to);
  add<ops::mish_backward, &mish_backward>(to);
  add<ops::_prelu_kernel, &prelu>(to);
  add<ops::_prelu_kernel_backward, &prelu_backward>(to);
  add<ops::rsub_Tensor, &subtracted_from>(to);
  add<ops::floor_divide, &floor_divide>(to);
  add<ops::floor_divide__Tensor, &floor_divide_>(to);
  add<ops::pow_Scalar, &power_of_number>(to);
  add<ops::logical_not_out, &logical_not_out>(to);
  add<ops::logical_and_out, &truth_of_two_out<logical_and_body>>(to);
  add<ops::logical_or_out, &truth_of_two_out<logical_or_body>>(to);
  add<ops::logical_xor_out, &truth_of_two_out<logical_xor_body>>(to);
  add<ops::angle, &angle>(to);
  add<ops::angle_out, &angle_out>(to);
  add<ops::logit, &logit>(to);
  add<ops::logit_, &logit_>(to);
  add<ops::logit_out, &logit_out>(to);
  add<ops::conj_physical_, &conj_physical_>(to);
  add<ops::conj_physical_out, &conj_physical_out>(to);
  add<ops::frexp_Tensor_out, &frexp_out>(to);
  add<ops::ldexp_Tensor, &ldexp>(to);
  add<ops::ldexp_out, &ldexp_out>(to);
  add<ops::_add_relu_Tensor, &add_relu>(to);
  add<ops::_add_relu__Tensor, &add_relu_>(to);
  add<ops::_add_relu_out, &add_relu_out>(to);
  add<ops::where_self, &where>(to);
  add<ops::where_self_out, &where_out>(to);
  add<ops::masked_fill__Scalar, &masked_fill_>(to);
  add<ops::masked_fill__Tensor, &masked_fill_by_tensor>(to);
}

}  // namespace outback::portable
