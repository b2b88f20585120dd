// native_dropout, which dropout uses on accelerators: one kernel draws, masks and scales.
#include <ATen/core/Tensor.h>

#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_dropout_backward_ops.h>
#include <ATen/ops/native_dropout_ops.h>

#include <tuple>

#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/dense.h"
#include "backend_template/portable/engine/draws.h"
#include "backend_template/portable/engine/in_order.h"
#include "backend_template/portable/engine/kernel_family.h"
#include "backend_template/portable/engine/launch.h"
#include "backend_template/portable/engine/operator.h"
#include "backend_template/portable/engine/operators.h"

namespace outback::portable {
namespace {

constinit kernel_family forward_kernels("random", "dropout");
constinit kernel_family backward_kernels("random", "dropout_backward");

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p,
                                                  std::optional<bool> train) {
  const bool draws_numbers = train.value_or(true) && input.numel() != 0 && p >= 0 && p <= 1;
  if (!draws_numbers || !input.is_non_overlapping_and_dense()) {
    return next<at::_ops::native_dropout>::call(input, p, train);
  }
  const c10::DeviceIndex device = input.device().index();
  const number_type type = type_of_floats(input.scalar_type());
  const kernels::packed_kernel& kernel = forward_kernels.of(device, type);
  at::Tensor output = at::empty_like(input);
  at::Tensor mask = at::empty_like(input, input.options().dtype(c10::kBool));
  const draws drawn = take_draws(std::nullopt, device, input.numel(), 4);
  with_computed_type(type, [&]<class C>(C /*zero*/) {
    const C scale = p == 1 ? C{0} : static_cast<C>(1 / (1 - p));
    launch(core::current_stream(device), kernel, drawn.groups_of(kernel), drawn, in_words(1 - p),
           scale, device_pointer{input.const_data_ptr()}, device_pointer{output.mutable_data_ptr()},
           device_pointer{mask.mutable_data_ptr()});
  });
  return {std::move(output), std::move(mask)};
}

at::Tensor native_dropout_backward(const at::Tensor& grad, const at::Tensor& mask, double scale) {
  const bool fits = ops::is_ours(grad) && ops::is_ours(mask) && mask.scalar_type() == c10::kBool &&
                    grad.sizes() == mask.sizes();
  if (!fits) throw no_kernel();
  const c10::DeviceIndex device = grad.device().index();
  const number_type type = type_of_floats(grad.scalar_type());
  const kernels::packed_kernel& kernel = backward_kernels.of(device, type);
  at::Tensor output = at::empty_like(grad);
  if (grad.numel() == 0) return output;
  // Gradients may be expanded, and lie in another order than the mask.
  const at::Tensor grads = in_order(grad, output), kept = in_order(mask, output);
  const int64_t count = grad.numel();
  with_computed_type(type, [&]<class C>(C /*zero*/) {
    launch(core::current_stream(device), kernel, groups_for(count, kernel), count,
           static_cast<C>(scale), device_pointer{grads.const_data_ptr()},
           device_pointer{kept.const_data_ptr()}, device_pointer{output.mutable_data_ptr()});
  });
  return output;
}

}  // namespace

void add_dropout(ops::registrar& to) {
  add<at::_ops::native_dropout, &native_dropout>(to);
  add<at::_ops::native_dropout_backward, &native_dropout_backward>(to);
}

}  // namespace outback::portable
