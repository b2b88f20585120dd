// softmax, log_softmax and their derivatives: torch's structured kernels for the CPU work on
// pointers if their arguments are contiguous, so they run in place.
#include <ATen/core/Tensor.h>

#include "backend_template/ops/in_place/cpu_kernels/cpu_kernels.h"
#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

template <class Kernel, class Operator>
void add_contiguous(registrar& to) {
  to.add<&contiguous_call<Kernel, Operator>::run>(Operator::name + 6, Operator::overload_name);
}

}  // namespace

void register_softmax(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;

  add_contiguous<structured_softmax_cpu_out, ops::_softmax>(to);
  add_contiguous<structured_log_softmax_cpu_out, ops::_log_softmax>(to);
  add_contiguous<structured_softmax_backward_cpu_out, ops::_softmax_backward_data>(to);
  add_contiguous<structured_log_softmax_backward_cpu_out, ops::_log_softmax_backward_data>(to);
}

}  // namespace outback::ops
