// Sums, means and softmax, which models take all the time.
#include <ATen/core/Tensor.h>
#include <ATen/native/ReduceOps.h>
#include <ATen/native/cpu/SoftmaxKernel.h>
#include <ATen/ops/_log_softmax_backward_data_native.h>
#include <ATen/ops/_log_softmax_backward_data_ops.h>
#include <ATen/ops/_log_softmax_native.h>
#include <ATen/ops/_log_softmax_ops.h>
#include <ATen/ops/_softmax_backward_data_native.h>
#include <ATen/ops/_softmax_backward_data_ops.h>
#include <ATen/ops/_softmax_native.h>
#include <ATen/ops/_softmax_ops.h>
#include <ATen/ops/mean_ops.h>
#include <ATen/ops/sum_native.h>
#include <ATen/ops/sum_ops.h>

#include "backend_template/ops/native/native.h"
#include "backend_template/ops/native/structured.h"
#include "backend_template/ops/native/stubs.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

template <class Kernel, class Operator>
void add_structured(registrar& to) {
  to.add<&structured_call<Kernel, Operator>::run>(Operator::name + 6, Operator::overload_name);
}

// With another dtype for the result the loop converts, which TensorIterator does for the CPU only.
at::Tensor sum(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
               std::optional<c10::ScalarType> dtype) {
  using plain = structured_call<at::native::structured_sum_out, at::_ops::sum_dim_IntList>;
  using aliased = unboxed_kernel<at::_ops::sum_dim_IntList>;
  return dtype.value_or(self.scalar_type()) == self.scalar_type()
             ? plain::run(self, dim, keepdim, dtype)
             : aliased::run(self, dim, keepdim, dtype);
}

// As torch does on the CPU; elsewhere it has another loop, and other roundings.
at::Tensor mean(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                std::optional<c10::ScalarType> dtype) {
  const c10::ScalarType type = self.scalar_type();
  const bool is_plain_mean = (type == c10::kFloat || type == c10::kDouble) &&
                             dtype.value_or(type) == type && is_ours(self) && ready(self);
  if (!is_plain_mean) return unboxed_kernel<at::_ops::mean_dim>::run(self, dim, keepdim, dtype);
  at::Tensor result = sum(self, dim, keepdim, dtype);
  const int64_t count = result.numel() == 0 ? 1 : self.numel() / result.numel();
  return result.div_(count);
}

}  // namespace

void register_reductions(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;

  fill_stub<sum_stub>();
  to.add<&sum>("sum", "dim_IntList");
  to.add<&mean>("mean", "dim");
  add_structured<structured_softmax_cpu_out, ops::_softmax>(to);
  add_structured<structured_log_softmax_cpu_out, ops::_log_softmax>(to);
  add_structured<structured_softmax_backward_cpu_out, ops::_softmax_backward_data>(to);
  add_structured<structured_log_softmax_backward_cpu_out, ops::_log_softmax_backward_data>(to);
}

}  // namespace outback::ops
