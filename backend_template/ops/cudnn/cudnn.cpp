// grid_sampler, which is cuDNN's on a device with a twin if torch would choose it, which asks for
// tensors of CUDA's own. recurrent_layers.cpp has cuDNN's layers of RNNs. Elsewhere it is torch's.
#include <ATen/core/Tensor.h>
#include <ATen/native/GridSamplerUtils.h>
#include <ATen/ops/cudnn_grid_sampler.h>
#include <ATen/ops/grid_sampler_native.h>

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

}  // namespace

void register_cudnn(registrar& to) {
  if (twin_targets().empty()) return;
  // Above autograd and below it, as in recurrent_layers.cpp.
  to.add<&outback::ops::grid_sampler>("grid_sampler", "", c10::DispatchKey::AutogradPrivateUse1);
  to.add<&outback::ops::grid_sampler>("grid_sampler");
}

}  // namespace outback::ops
