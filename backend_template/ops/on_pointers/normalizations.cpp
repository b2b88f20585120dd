// softmax and log_softmax with their derivatives, group and layer normalization: torch's kernels
// for the CPU work on pointers if their arguments are contiguous, so they run in place.
#include <ATen/core/Tensor.h>
#include <ATen/native/group_norm.h>

#include "backend_template/ops/on_pointers/structured.h"
#include "backend_template/ops/on_pointers/stubs.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {

void register_normalizations(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;
  constexpr native_rules contiguous{.contiguous = true};

  add_structured<ops::_softmax, structured_softmax_cpu_out, contiguous>(to);
  add_structured<ops::_log_softmax, structured_log_softmax_cpu_out, contiguous>(to);
  add_structured<ops::_softmax_backward_data, structured_softmax_backward_cpu_out, contiguous>(to);
  add_structured<ops::_log_softmax_backward_data, structured_log_softmax_backward_cpu_out,
                 contiguous>(to);
  fill_stubs<GroupNormKernel>();
  add_plain<ops::native_group_norm, &native_group_norm, contiguous>(to);
  add_plain<ops::native_layer_norm, &layer_norm_cpu, contiguous>(to);
}

}  // namespace outback::ops
