// Images and losses: padding, pooling, pixels that change places, and what compares predictions
// with targets. torch's functions for the CPU go through contiguous tensors by their pointers.
#include <ATen/core/Tensor.h>
#include <ATen/native/IndexKernel.h>

#include "backend_template/ops/on_pointers/structured.h"
#include "backend_template/ops/on_pointers/stubs.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {

void register_images(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;
  constexpr native_rules contiguous{.contiguous = true};
  constexpr native_rules with_targets{.contiguous = true, .indices = true};
  constexpr native_rules any_contiguous{.contiguous = true, .any_dtype = true};

  add_structured<ops::reflection_pad1d, structured_reflection_pad1d_out_cpu, contiguous>(to);
  add_plain<ops::reflection_pad2d, &reflection_pad2d_cpu, contiguous>(to);
  add_structured<ops::replication_pad1d, structured_replication_pad1d_out_cpu, contiguous>(to);
  add_structured<ops::replication_pad2d, structured_replication_pad2d_out_cpu, contiguous>(to);
  add_structured<ops::replication_pad3d, structured_replication_pad3d_out_cpu, contiguous>(to);

  add_plain<ops::_adaptive_avg_pool2d, &adaptive_avg_pool2d_cpu, contiguous>(to);
  add_structured<ops::avg_pool3d, structured_avg_pool3d_out_cpu, contiguous>(to);
  add_structured<ops::max_pool2d_with_indices, structured_max_pool2d_with_indices_out_cpu,
                 contiguous>(to);
  add_native<ops::grid_sampler_2d, &grid_sampler_2d_cpu, contiguous>(to);
  add_native<ops::grid_sampler_3d, &grid_sampler_3d_cpu, contiguous>(to);

  add_native<ops::pixel_shuffle, &pixel_shuffle_cpu, any_contiguous>(to);
  add_native<ops::pixel_unshuffle, &pixel_unshuffle_cpu, any_contiguous>(to);
  add_plain<ops::narrow_copy, &narrow_copy_dense_cpu, any_contiguous>(to);
  fill_stubs<flip_stub>();
  add_native<ops::flip, &flip, any_contiguous>(to);
  add_plain<ops::roll, &roll, any_contiguous>(to);

  add_native<ops::log_sigmoid_forward, &log_sigmoid_forward_cpu, contiguous>(to);
  add_native<ops::multi_margin_loss, &multi_margin_loss_cpu, with_targets>(to);
  add_structured<ops::nll_loss_forward, structured_nll_loss_forward_out_cpu, with_targets>(to);
}

}  // namespace outback::ops
