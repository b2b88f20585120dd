// What torch.amp.GradScaler does on the device.
#include <ATen/core/Tensor.h>

#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale_ops.h>
#include <ATen/ops/_amp_update_scale_ops.h>

#include "backend_template/core/streams/stream.h"
#include "backend_template/ops/tensors/tensor_fields.h"
#include "backend_template/portable/engine/dense.h"
#include "backend_template/portable/engine/in_order.h"
#include "backend_template/portable/engine/kernel_family.h"
#include "backend_template/portable/engine/launch.h"
#include "backend_template/portable/engine/operator.h"
#include "backend_template/portable/engine/operators.h"

namespace outback::portable {
namespace {

constinit kernel_family unscale_kernels("grad_scaler", "unscale");
constinit kernel_cache<1> update_kernels;

// Throws no_kernel unless the tensor is one number on the device: torch's own kernel says what is
// wrong with it.
void expect_number(const at::Tensor& tensor, c10::ScalarType dtype) {
  const bool fits = ops::is_ours(tensor) && tensor.numel() == 1 && tensor.scalar_type() == dtype;
  if (!fits) throw no_kernel();
}

void check_and_unscale(at::TensorList grads, at::Tensor& found, const at::Tensor& inverse) {
  expect_number(found, c10::kFloat);
  expect_number(inverse, c10::kFloat);
  const c10::DeviceIndex device = found.device().index();
  const auto kernel_of = [&](const at::Tensor& grad) -> const kernels::packed_kernel& {
    if (!ops::is_ours(grad)) throw no_kernel();
    return unscale_kernels.of(device, type_of_floats(grad.scalar_type()));
  };
  // Kernels that are missing are noticed before anything is written.
  for (const at::Tensor& grad : grads) kernel_of(grad);
  for (const at::Tensor& grad : grads) {
    if (grad.numel() == 0) continue;
    const at::Tensor line = grad.is_non_overlapping_and_dense() ? grad : grad.contiguous();
    const kernels::packed_kernel& kernel = kernel_of(grad);
    const int64_t count = grad.numel();
    launch(core::current_stream(device), kernel, groups_for(count, kernel), count,
           device_pointer{inverse.const_data_ptr()}, device_pointer{found.mutable_data_ptr()},
           device_pointer{line.mutable_data_ptr()});
    if (!line.is_same(grad)) grad.copy_(line);
  }
}

at::Tensor& update_scale(at::Tensor& scale, at::Tensor& good_steps, const at::Tensor& found,
                         double growth, double backoff, int64_t interval) {
  expect_number(scale, c10::kFloat);
  expect_number(good_steps, c10::kInt);
  expect_number(found, c10::kFloat);
  const c10::DeviceIndex device = scale.device().index();
  const kernels::packed_kernel& kernel =
      update_kernels.get(device, 0, [&]() -> const kernels::packed_kernel& {
        return find_kernel(device, "update_scale", "update_scale");
      });
  launch(core::current_stream(device), kernel, 1, static_cast<float>(growth),
         static_cast<float>(backoff), static_cast<int32_t>(interval),
         device_pointer{scale.mutable_data_ptr()}, device_pointer{good_steps.mutable_data_ptr()},
         device_pointer{found.const_data_ptr()});
  return scale;
}

}  // namespace

void add_grad_scaler(ops::registrar& to) {
  add<at::_ops::_amp_foreach_non_finite_check_and_unscale_, &check_and_unscale>(to);
  add<at::_ops::_amp_update_scale_, &update_scale>(to);
}

}  // namespace outback::portable
