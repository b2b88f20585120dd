// Reductions: torch's structured kernels for the CPU hand a TensorIterator to a dispatch stub, so
// they run in place.
#include <ATen/core/Tensor.h>
#include <ATen/native/ReduceAllOps.h>
#include <ATen/native/ReduceOps.h>
#include <ATen/native/ReduceOpsUtils.h>
#include <ATen/native/TensorCompare.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "backend_template/ops/on_pointers/structured.h"
#include "backend_template/ops/on_pointers/stubs.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using sum_kernel = structured<at::native::structured_sum_out, at::_ops::sum_dim_IntList::schema>;
using native_sum =
    native_call<at::_ops::sum_dim_IntList, &sum_kernel::run, native_rules{.any_dtype = true}>;

// The CPU adds half and bfloat16 up in float32 where it can, but asks first whether the tensor is
// its own.
at::Tensor sum(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
               std::optional<c10::ScalarType> dtype) {
  if (at::isReducedFloatingType(dtype.value_or(self.scalar_type()))) {
    return unboxed_kernel<at::_ops::sum_dim_IntList>::run(self, dim, keepdim, dtype);
  }
  return native_sum::run(self, dim, keepdim, dtype);
}

// As the CPU does it: the sum over the count, which for float32 and float64 has no other dtype.
at::Tensor mean(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                std::optional<c10::ScalarType> dtype) {
  const bool is_simple =
      (self.scalar_type() == c10::kFloat || self.scalar_type() == c10::kDouble) &&
      is_like(self, dtype) && core::runs_cpu_kernels(self.get_device());
  if (!is_simple) return unboxed_kernel<at::_ops::mean_dim>::run(self, dim, keepdim, dtype);
  const bool is_whole = !dim || dim->empty() || self.dim() == 0;
  int64_t count = is_whole ? self.numel() : 1;
  if (!is_whole) {
    for (const int64_t d : *dim) count *= self.size(d);
  }
  return native_sum::run(self, dim, keepdim, dtype).div_(count);
}

// As the CPU does it: torch's kernel calls that of vector_norm.
at::Tensor norm(const at::Tensor& self, const std::optional<at::Scalar>& p, at::IntArrayRef dim,
                bool keepdim) {
  using kernel = structured<at::native::structured_linalg_vector_norm_out,
                            at::_ops::linalg_vector_norm::schema>;
  return kernel::run(self, p.value_or(2.0), dim, keepdim, std::nullopt);
}

// As the CPU does it. What it warns of is left to it.
template <class Operator, bool take_sqrt>
std::tuple<at::Tensor, at::Tensor> with_mean(const at::Tensor& self, at::OptionalIntArrayRef dim,
                                             const std::optional<at::Scalar>& correction,
                                             bool keepdim) {
  if (is_ours(self) && is_like(self, self) && ready(self)) {
    at::Tensor result = at::empty({0}, self.options()), mean = at::empty({0}, self.options());
    at::TensorIterator elements = at::native::make_reduction(Operator::name, result, mean, self,
                                                             dim, keepdim, self.scalar_type());
    const double less = correction.value_or(1).toDouble();
    const int64_t count =
        elements.numel() == 0 ? 0 : elements.numel() / elements.num_output_elements();
    if (static_cast<double>(count) > std::max(less, 0.0)) {
      at::native::std_var_stub(c10::kCPU, elements, less, take_sqrt);
      return {std::move(result), std::move(mean)};
    }
  }
  return unboxed_kernel<Operator>::run(self, dim, correction, keepdim);
}

}  // namespace

void register_reductions(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;
  constexpr native_rules of_any_dtype{.any_dtype = true};
  constexpr native_rules contiguous{.contiguous = true, .any_dtype = true};

  fill_stubs<max_values_stub, min_values_stub, norm_stub, sum_stub, and_stub, or_stub, argmax_stub,
             argmin_stub, aminmax_stub, aminmax_allreduce_stub, max_all_stub, min_all_stub,
             nansum_stub, prod_stub, cumsum_stub, cumprod_stub>();
  add_structured<ops::amax, structured_amax_out>(to);
  add_structured<ops::amin, structured_amin_out>(to);
  add_structured<ops::linalg_vector_norm, structured_linalg_vector_norm_out>(to);
  add_native<ops::norm_ScalarOpt_dim, &outback::ops::norm>(to);
  to.add<ops::sum_dim_IntList, &outback::ops::sum>();
  to.add<&outback::ops::mean>("mean", "dim");
  to.add<ops::var_mean_correction, &with_mean<ops::var_mean_correction, false>>();
  to.add<ops::std_mean_correction, &with_mean<ops::std_mean_correction, true>>();
  add_native<ops::trace, &trace_cpu>(to);  // a loop over pointers
  add_native<ops::count_nonzero_dim_IntList, &count_nonzero_cpu, of_any_dtype>(to);
  add_structured<ops::all, structured_all_all_out, of_any_dtype>(to);
  add_structured<ops::all_dim, structured_all_out, of_any_dtype>(to);
  add_structured<ops::any, structured_any_all_out, of_any_dtype>(to);
  add_structured<ops::any_dim, structured_any_out, of_any_dtype>(to);
  add_structured<ops::argmax, structured_argmax_out, contiguous>(to);
  add_structured<ops::argmin, structured_argmin_out, contiguous>(to);
  add_structured<ops::aminmax, structured_aminmax_out, contiguous>(to);
  add_native<ops::max, &max, contiguous>(to);
  add_native<ops::min, &min, contiguous>(to);
  add_structured<ops::topk, structured_topk_out_cpu, of_any_dtype>(to);
  add_native<ops::nansum, &nansum>(to);
  add_native<ops::prod, &prod>(to);
  add_structured<ops::prod_dim_int, structured_prod_out>(to);
  add_structured<ops::cumsum, structured_cumsum_out>(to);
  add_structured<ops::cumprod, structured_cumprod_out>(to);
}

}  // namespace outback::ops
