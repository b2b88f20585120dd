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

// Sums of shorter types come out otherwise than the CPU's here, and one with another dtype for the
// result converts in the loop, which TensorIterator does for the CPU only.
bool keeps_dtype(const at::Tensor& self, std::optional<c10::ScalarType> dtype) {
  const c10::ScalarType type = self.scalar_type();
  return (type == c10::kFloat || type == c10::kDouble) && dtype.value_or(type) == type;
}

at::Tensor sum(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
               std::optional<c10::ScalarType> dtype) {
  using plain = structured_call<at::native::structured_sum_out, at::_ops::sum_dim_IntList>;
  using aliased = unboxed_kernel<at::_ops::sum_dim_IntList>;
  return keeps_dtype(self, dtype) ? plain::run(self, dim, keepdim, dtype)
                                  : aliased::run(self, dim, keepdim, dtype);
}

// As torch does on the CPU; elsewhere it has another loop, and other roundings.
at::Tensor mean(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                std::optional<c10::ScalarType> dtype) {
  const bool is_sum_of_numbers = is_ours(self) && keeps_dtype(self, dtype) && ready(self);
  if (!is_sum_of_numbers) return unboxed_kernel<at::_ops::mean_dim>::run(self, dim, keepdim, dtype);
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
