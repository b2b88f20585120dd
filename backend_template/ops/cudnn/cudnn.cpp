// grid_sampler and batch_norm, which are cuDNN's on a device with a twin if torch would choose it,
// and torch's elsewhere. To choose, torch asks for tensors of CUDA's own, so the twin is asked
// here. recurrent/ has cuDNN's layers of RNNs.
#include <ATen/core/Tensor.h>
#include <ATen/native/GridSamplerUtils.h>
#include <ATen/native/Normalization.h>
#include <ATen/ops/_batch_norm_impl_index_native.h>
#include <ATen/ops/cudnn_batch_norm.h>
#include <ATen/ops/cudnn_grid_sampler.h>
#include <ATen/ops/grid_sampler_native.h>

#include <optional>
#include <tuple>
#include <utility>

#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

at::Tensor seen_by_twin(const at::Tensor& tensor) {
  return has_twin(tensor) ? make_shape_alias(target_of(tensor.device().index()), tensor) : tensor;
}

at::Tensor grid_sampler(const at::Tensor& input, const at::Tensor& grid, int64_t interpolation,
                        int64_t padding, bool align_corners) {
  using namespace at::native::detail;
  const bool may_be_cudnns =
      interpolation == static_cast<int64_t>(GridSamplerInterpolation::Bilinear) &&
      padding == static_cast<int64_t>(GridSamplerPadding::Zeros) && align_corners &&
      has_twin(input) && has_twin(grid);
  if (may_be_cudnns &&
      at::native::cond_cudnn_grid_sampler(seen_by_twin(input), seen_by_twin(grid))) {
    return at::cudnn_grid_sampler(input, grid);
  }
  return at::native::grid_sampler(input, grid, interpolation, padding, align_corners);
}

using optional_tensor = std::optional<at::Tensor>;

at::Tensor value_of(const optional_tensor& tensor) {
  return tensor.value_or(at::Tensor());
}

// The operator that batch_norm is composed of. The number says who computes: 1 is cuDNN.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, int64_t> batch_norm_impl_index(
    const at::Tensor& input, const optional_tensor& weight, const optional_tensor& bias,
    const optional_tensor& running_mean, const optional_tensor& running_var, bool training,
    double momentum, double eps, bool cudnn_enabled) {
  const auto is_for_cudnn = [&] {
    const kernel_target& twin = target_of(input.get_device());
    const auto there = [&twin](const optional_tensor& tensor) {
      return make_shape_alias(twin, value_of(tensor));
    };
    return at::native::_select_batch_norm_backend(there(input), there(weight), there(bias),
                                                  there(running_mean), there(running_var), training,
                                                  eps) == at::native::BatchNormBackend::Cudnn;
  };
  if (!cudnn_enabled || !has_twin(input) || !is_for_cudnn()) {
    return at::native::_batch_norm_impl_index(input, weight, bias, running_mean, running_var,
                                              training, momentum, eps, cudnn_enabled);
  }
  auto [result, saved_mean, saved_var, reserve] =
      at::cudnn_batch_norm(input.contiguous(input.suggest_memory_format()),
                           value_of(weight).contiguous(), value_of(bias).contiguous(),
                           value_of(running_mean), value_of(running_var), training, momentum, eps);
  return {std::move(result), std::move(saved_mean), std::move(saved_var), std::move(reserve), 1};
}

}  // namespace

void register_cudnn(registrar& to) {
  if (twin_targets().empty()) return;
  // Above autograd and below it, as in recurrent_layers.cpp.
  to.add<&batch_norm_impl_index>("_batch_norm_impl_index", "",
                                 c10::DispatchKey::AutogradPrivateUse1);
  to.add<&batch_norm_impl_index>("_batch_norm_impl_index");
  to.add<&outback::ops::grid_sampler>("grid_sampler", "", c10::DispatchKey::AutogradPrivateUse1);
  to.add<&outback::ops::grid_sampler>("grid_sampler");
}

}  // namespace outback::ops
