// Matrix products: torch's structured kernels for the CPU hand pointers to a
// BLAS, so they run in place on the device's tensors. Only where nothing else takes part:
// the checks below are the cases in which torch copies a matrix first, or asks oneDNN.
#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/LinearAlgebra.h>

#include <type_traits>
#include <utility>

#include "backend_template/ops/on_pointers/structured.h"
#include "backend_template/ops/on_pointers/stubs.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"
#include "backend_template/ops/tensors/small_copy.h"

namespace outback::ops {
namespace {

// True if torch multiplies this dtype with a BLAS. oneDNN takes tensors and looks at their device,
// so its cases need aliases: half precision, float32 if the user allows TF32 or bfloat16 for it,
// and on processors other than x86-64 more dtypes.
bool is_for_blas(c10::ScalarType dtype) {
#if defined(__x86_64__)
  if (dtype == c10::kDouble) return true;
  if (dtype != c10::kFloat) return false;
  const auto precision =
      at::globalContext().float32Precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL);
  return precision != at::Float32Precision::TF32 && precision != at::Float32Precision::BF16;
#else
  static_cast<void>(dtype);
  return false;
#endif
}

// True if a BLAS takes the last two dimensions as they are. torch's kernels copy any other matrix
// first, which is an operator.
bool is_blas_matrix(const at::Tensor& tensor) {
  const int64_t d = tensor.dim();
  if (d < 2) return false;
  const int64_t rows = tensor.size(d - 2), columns = tensor.size(d - 1);
  const int64_t row = tensor.stride(d - 2), column = tensor.stride(d - 1);
  return (column == 1 && row >= columns) || (row == 1 && column >= rows);
}

bool are_blas_matrices(const at::Tensor& a, const at::Tensor& b) {
  return is_for_blas(a.scalar_type()) && is_blas_matrix(a) && is_blas_matrix(b);
}

// True if the matrices of the batch lie one behind the other.
bool is_blas_batch(const at::Tensor& tensor) {
  return tensor.dim() == 3 && tensor.stride(0) >= tensor.size(1) * tensor.size(2);
}

bool are_blas_batches(const at::Tensor& a, const at::Tensor& b) {
  return are_blas_matrices(a, b) && is_blas_batch(a) && is_blas_batch(b);
}

bool are_for_blas(const at::Tensor& a, const at::Tensor& /*of the same dtype*/) {
  return is_for_blas(a.scalar_type());
}

// As it multiplies them with a vector.
bool are_for_vectors(const at::Tensor& mat, const at::Tensor& vec) {
  return are_for_blas(mat, vec) && mat.dim() == 2 && mat.numel() > 0 && is_blas_matrix(mat);
}

// A product by torch's function for the CPU if a BLAS takes both sides as they are.
template <class Operator, typename Operator::schema* function,
          bool (*suits)(const at::Tensor&, const at::Tensor&)>
at::Tensor product(const at::Tensor& self, const at::Tensor& other) {
  return suits(self, other) ? native_call<Operator, function>::run(self, other)
                            : unboxed_kernel<Operator>::run(self, other);
}

// Adds a product to `self`: in a new tensor, or in place to a vector. torch's kernel copies `self`
// into the result with copy_, an operator, unless both are one tensor. So `self` is copied here,
// and the kernel gets the result as its `self`.
template <class Operator, class Kernel, bool (*suits)(const at::Tensor&, const at::Tensor&),
          class Result, class Self>
Result sum_with_product(Self self, const at::Tensor& a, const at::Tensor& b, const at::Scalar& beta,
                        const at::Scalar& alpha) {
  constexpr bool in_place = std::is_reference_v<Result>;
  const bool runs_on_pointers = is_ours(self) && is_like(self, self) && is_like(self, a) &&
                                is_like(self, b) && suits(a, b) && !beta.isComplex() &&
                                (!in_place || self.sizes() == a.sizes().slice(0, 1)) && ready(self);
  if (!runs_on_pointers) return unboxed_kernel<Operator>::run(self, a, b, beta, alpha);
  kernel_on_device<Kernel> kernel;
  if constexpr (in_place) kernel.outputs.tensors[0] = self;
  kernel.meta(self, a, b, beta, alpha);
  auto& result = kernel.outputs.tensors[0];
  if (!in_place && beta.toDouble() != 0) {
    copy_by_loop(result, *at::expand_size(self, result.sizes(), "addmm_out"));
  }
  kernel.impl(result, a, b, beta, alpha, result);
  if constexpr (!in_place) return std::move(result);
  return self;
}

}  // namespace

void register_matrices(registrar& to) {
  namespace native = at::native;
  using namespace at::_ops;
  using mm_kernel = structured<native::structured_mm_out_cpu, mm::schema>;
  using bmm_kernel = structured<native::structured_bmm_out_cpu, bmm::schema>;
  to.add<addmm, &sum_with_product<addmm, native::structured_addmm_out_cpu, &are_blas_matrices,
                                  at::Tensor, const at::Tensor&>>();
  using addmv_kernel = native::structured_addmv_out_cpu;
  to.add<addmv,
         &sum_with_product<addmv, addmv_kernel, &are_for_vectors, at::Tensor, const at::Tensor&>>();
  // mv calls it, on a tensor that is made for the result.
  to.add<addmv_,
         &sum_with_product<addmv_, addmv_kernel, &are_for_vectors, at::Tensor&, at::Tensor&>>();
  fill_stubs<native::addr_stub>();
  add_native<addr, &native::addr>(to);
  constexpr native_rules contiguous{.contiguous = true, .any_dtype = true};
  add_structured<tril, native::structured_tril_cpu, contiguous>(to);
  add_structured<triu, native::structured_triu_cpu, contiguous>(to);
  to.add<bmm, &product<bmm, &bmm_kernel::run, &are_blas_batches>>();
  to.add<dot, &product<dot, &native::dot, &are_for_blas>>();
  to.add<mm, &product<mm, &mm_kernel::run, &are_blas_matrices>>();
  add_native<vdot, &native::vdot>(to);  // dot, of real numbers
}

}  // namespace outback::ops
