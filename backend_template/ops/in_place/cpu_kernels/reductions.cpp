// Reductions: torch's structured kernels for the CPU hand a TensorIterator to a dispatch stub, so
// they run in place.
#include <ATen/core/Tensor.h>
#include <ATen/native/ReduceOps.h>

#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/in_place/cpu_kernels/stubs.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using sum_kernel = structured<at::native::structured_sum_out, at::_ops::sum_dim_IntList::schema>;
using sum = native_call<at::_ops::sum_dim_IntList, &sum_kernel::run>;

// As the CPU does it: the sum over the count, which for float32 and float64 has no other dtype.
at::Tensor mean(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                std::optional<c10::ScalarType> dtype) {
  const bool is_simple =
      (self.scalar_type() == c10::kFloat || self.scalar_type() == c10::kDouble) &&
      is_like(self, dtype) && core::is_host_addressable(self.get_device());
  if (!is_simple) return unboxed_kernel<at::_ops::mean_dim>::run(self, dim, keepdim, dtype);
  const bool is_whole = !dim || dim->empty() || self.dim() == 0;
  int64_t count = is_whole ? self.numel() : 1;
  if (!is_whole) {
    for (const int64_t d : *dim) count *= self.size(d);
  }
  return sum::run(self, dim, keepdim, dtype).div_(count);
}

}  // namespace

void register_reductions(registrar& to) {
  using namespace at::native;
  namespace ops = at::_ops;

  fill_stub<max_values_stub>();
  add_structured<ops::amax, structured_amax_out>(to);
  fill_stub<min_values_stub>();
  add_structured<ops::amin, structured_amin_out>(to);
  fill_stub<norm_stub>();
  add_structured<ops::linalg_vector_norm, structured_linalg_vector_norm_out>(to);
  fill_stub<sum_stub>();
  to.add<ops::sum_dim_IntList, &sum::run>();
  to.add<&outback::ops::mean>("mean", "dim");
  add_native<ops::trace, &trace_cpu>(to);  // a loop over pointers
}

}  // namespace outback::ops
