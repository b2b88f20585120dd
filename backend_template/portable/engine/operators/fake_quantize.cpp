// Fake quantization: a copy of the values that quantized tensors can have. What PyTorch refuses is
// the next provider's.
#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>

// Includes all of torch's operators, after the headers that they need and do not include.
#include <ATen/Functions.h>
#include <ATen/Operators.h>

#include "backend_template/portable/engine/elementwise.h"
#include "backend_template/portable/engine/operator.h"
#include "backend_template/portable/engine/operators.h"

namespace outback::portable {
namespace {

constinit body fake_quantize_body("fake_quantize", 3, body::kind::floats);
constinit body fake_quantize_mask_body("fake_quantize_mask", 3, body::kind::floats, true);
constinit body fake_quantize_by_scale_body("fake_quantize_by_scale", 3, body::kind::floats);
constinit body fake_quantize_by_zero_point_body("fake_quantize_by_zero_point", 3,
                                                body::kind::floats);

constinit body fake_quantize_numbers_body("fake_quantize_numbers", 1, body::kind::floats);
constinit body fake_quantize_numbers_mask_body("fake_quantize_numbers_mask", 1, body::kind::floats,
                                               true);

// How values are quantized. The scale and the zero point are tensors that are broadcast to the
// values: they have one value each, or one for each channel.
struct quantizer {
  at::Tensor scale, zero_point;
  int64_t least, most;
  bool rounds_sum = false;  // the zero point is added before the values are rounded

  void run(body& which, const at::Tensor& self, const at::Tensor& out) const {
    auto elements = at::TensorIteratorConfig()
                        .check_all_same_dtype(false)
                        .resize_outputs(false)
                        .add_output(out)
                        .add_const_input(self)
                        .add_const_input(scale)
                        .add_const_input(zero_point)
                        .build();
    const numbers given(static_cast<double>(least), static_cast<double>(most),
                        rounds_sum ? 1.0 : 0.0);
    run_elementwise(elements, which, given, self.scalar_type());
  }

  at::Tensor values(const at::Tensor& self) const {
    at::Tensor out = at::empty_like(self);
    run(fake_quantize_body, self, out);
    return out;
  }

  // Where values are within the range.
  at::Tensor mask(const at::Tensor& self) const {
    at::Tensor out = at::empty_like(self, self.options().dtype(c10::kBool));
    run(fake_quantize_mask_body, self, out);
    return out;
  }

  // What `which`, a derivative, gives for each value, times the gradient of the result.
  at::Tensor gradient(body& which, const at::Tensor& self, const at::Tensor& grad,
                      double factor) const {
    at::Tensor out = at::empty_like(self);
    run(which, self, out);
    return out.mul_(grad).mul_(factor);
  }
};

void serve_only_if(bool is_served) {
  if (!is_served) throw no_kernel();
}

using two_tensors = std::tuple<at::Tensor, at::Tensor>;
using three_tensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

two_tensors fake_quantize(const at::Tensor& self, double scale, int64_t zero_point, int64_t least,
                          int64_t most) {
  serve_only_if(least <= zero_point && zero_point <= most);
  const auto run = [&](body& which, const at::Tensor& out) {
    auto elements = at::TensorIteratorConfig()
                        .check_all_same_dtype(false)
                        .resize_outputs(false)
                        .add_output(out)
                        .add_const_input(self)
                        .build();
    const numbers given(static_cast<double>(least - zero_point),
                        static_cast<double>(most - zero_point), scale);
    run_elementwise(elements, which, given, self.scalar_type());
  };
  at::Tensor values = at::empty_like(self);
  at::Tensor mask = at::empty_like(self, self.options().dtype(c10::kBool));
  run(fake_quantize_numbers_body, values);
  run(fake_quantize_numbers_mask_body, mask);
  return {std::move(values), std::move(mask)};
}

// Tensors of one value say how, and whether at all. The host reads none of them.
two_tensors fake_quantize_by_tensors(const at::Tensor& self, const at::Tensor& scale,
                                     const at::Tensor& zero_point, const at::Tensor& enabled,
                                     int64_t least, int64_t most) {
  serve_only_if(least <= most && scale.numel() == 1 && zero_point.numel() == 1 &&
                enabled.numel() == 1);
  const quantizer by{scale.reshape({}), zero_point.reshape({}).to(c10::kInt), least, most};
  const at::Tensor is_off = enabled.reshape({}).eq(0);
  return {at::where(is_off, self, by.values(self)), by.mask(self).logical_or_(is_off)};
}

at::Tensor fake_quantize_learnable(const at::Tensor& self, const at::Tensor& scale,
                                   const at::Tensor& zero_point, int64_t least, int64_t most,
                                   double /*factor*/) {
  serve_only_if(least <= most && scale.dim() == 1 && scale.numel() == 1 && zero_point.dim() == 1 &&
                zero_point.numel() == 1);
  const at::Tensor rounded = zero_point.reshape({}).round().clamp_(least, most);
  return quantizer{scale.reshape({}), rounded, least, most}.values(self);
}

three_tensors fake_quantize_learnable_backward(const at::Tensor& grad, const at::Tensor& self,
                                               const at::Tensor& scale,
                                               const at::Tensor& zero_point, int64_t least,
                                               int64_t most, double factor) {
  serve_only_if(least <= 0 && most >= 0 && self.numel() != 0 && grad.sizes() == self.sizes() &&
                scale.dim() == 1 && scale.numel() == 1 && zero_point.dim() == 1 &&
                zero_point.numel() == 1);
  for (const at::Tensor& each : {grad, self, scale, zero_point}) {
    serve_only_if(each.scalar_type() == c10::kFloat);
  }
  const at::Tensor whole = zero_point.reshape({}).add(0.5).clamp_(least, most).trunc_();
  const quantizer by{scale.reshape({}), whole, least, most, true};
  const auto sum_of = [&](body& which) {
    return by.gradient(which, self, grad, factor).sum().unsqueeze(0);
  };
  return {by.mask(self).mul(grad), sum_of(fake_quantize_by_scale_body),
          sum_of(fake_quantize_by_zero_point_body)};
}

// A quantizer of the values along dimension `axis`.
quantizer of_channels(const at::Tensor& self, const at::Tensor& scale, const at::Tensor& zero_point,
                      int64_t axis, int64_t least, int64_t most) {
  serve_only_if(axis >= 0 && axis < self.dim() && scale.dim() == 1 && zero_point.dim() == 1);
  serve_only_if(least <= most && scale.numel() == self.size(axis) &&
                zero_point.numel() == self.size(axis));
  c10::DimVector sizes(static_cast<size_t>(self.dim()), 1);
  sizes[axis] = self.size(axis);
  return {scale.reshape(sizes), zero_point.reshape(sizes), least, most,
          zero_point.is_floating_point()};
}

two_tensors fake_quantize_channels(const at::Tensor& self, const at::Tensor& scale,
                                   const at::Tensor& zero_point, int64_t axis, int64_t least,
                                   int64_t most) {
  const c10::ScalarType of_scale = scale.scalar_type(), of_zero_point = zero_point.scalar_type();
  serve_only_if(
      (of_scale == c10::kFloat || of_scale == c10::kBFloat16) &&
      (of_zero_point == c10::kInt || of_zero_point == c10::kFloat || of_zero_point == c10::kHalf));
  const quantizer by = of_channels(self, scale, zero_point, axis, least, most);
  if (of_zero_point == c10::kInt && zero_point.numel() != 0) {  // waits, as PyTorch's check does
    serve_only_if(at::amin(zero_point).item<int64_t>() >= least &&
                  at::amax(zero_point).item<int64_t>() <= most);
  }
  return {by.values(self), by.mask(self)};
}

at::Tensor fake_quantize_learnable_channels(const at::Tensor& self, const at::Tensor& scale,
                                            const at::Tensor& zero_point, int64_t axis,
                                            int64_t least, int64_t most, double /*factor*/) {
  serve_only_if(least <= most && scale.scalar_type() == c10::kFloat &&
                zero_point.is_floating_point());
  const at::Tensor whole = zero_point.round().clamp_(least, most).to(c10::kInt);
  return of_channels(self, scale, whole, axis, least, most).values(self);
}

three_tensors fake_quantize_learnable_channels_backward(
    const at::Tensor& grad, const at::Tensor& self, const at::Tensor& scale,
    const at::Tensor& zero_point, int64_t axis, int64_t least, int64_t most, double factor) {
  serve_only_if(least <= 0 && most >= 0 && self.numel() != 0 && grad.sizes() == self.sizes());
  for (const at::Tensor& each : {grad, self, scale, zero_point}) {
    serve_only_if(each.scalar_type() == c10::kFloat);
  }
  const at::Tensor whole = zero_point.round().clamp_(least, most);
  const quantizer by = of_channels(self, scale, whole, axis, least, most);
  c10::DimVector others;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != axis) others.push_back(d);
  }
  const auto sum_of = [&](body& which) {
    return by.gradient(which, self, grad, factor).sum(others);
  };
  return {by.mask(self).mul(grad), sum_of(fake_quantize_by_scale_body),
          sum_of(fake_quantize_by_zero_point_body)};
}

}  // namespace

void add_fake_quantization(ops::registrar& to) {
  add<at::_ops::fake_quantize_per_tensor_affine_cachemask, &fake_quantize>(to);
  add<at::_ops::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams,
      &fake_quantize_by_tensors>(to);
  add<at::_ops::fake_quantize_per_channel_affine_cachemask, &fake_quantize_channels>(to);
  add<at::_ops::_fake_quantize_learnable_per_tensor_affine, &fake_quantize_learnable>(to);
  add<at::_ops::_fake_quantize_learnable_per_tensor_affine_backward,
      &fake_quantize_learnable_backward>(to);
  add<at::_ops::_fake_quantize_learnable_per_channel_affine, &fake_quantize_learnable_channels>(to);
  add<at::_ops::_fake_quantize_learnable_per_channel_affine_backward,
      &fake_quantize_learnable_channels_backward>(to);
}

}  // namespace outback::portable
