// softmax, log_softmax and their derivatives: torch's structured kernels for the CPU work on
// pointers if their arguments are contiguous, so they run in place.
#include <ATen/core/Tensor.h>

#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {

void register_softmax(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;

  to.add<ops::_softmax, &contiguous_call<structured_softmax_cpu_out, ops::_softmax>::run>();
  to.add<ops::_log_softmax,
         &contiguous_call<structured_log_softmax_cpu_out, ops::_log_softmax>::run>();
  to.add<ops::_softmax_backward_data,
         &contiguous_call<structured_softmax_backward_cpu_out, ops::_softmax_backward_data>::run>();
  to.add<ops::_log_softmax_backward_data, &contiguous_call<structured_log_softmax_backward_cpu_out,
                                                           ops::_log_softmax_backward_data>::run>();
}

}  // namespace outback::ops
