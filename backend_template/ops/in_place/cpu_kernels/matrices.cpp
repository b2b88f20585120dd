// Matrix products: torch's structured kernels for the CPU hand pointers to a BLAS, so they run in
// place on the device's tensors. Only where nothing else takes part: the checks below are the cases
// in which torch copies a matrix first, or asks oneDNN.
#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>

#include "backend_template/ops/in_place/cpu_kernels/cpu_structured.h"
#include "backend_template/ops/own/small_copy.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

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
  if (d < 2 || tensor.numel() == 0) return false;
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

// A product by torch's function for the CPU if a BLAS takes both sides as they are.
template <class Operator, typename Operator::schema* function,
          bool (*suits)(const at::Tensor&, const at::Tensor&)>
at::Tensor product(const at::Tensor& self, const at::Tensor& other) {
  return suits(self, other) ? native_call<Operator, function>::run(self, other)
                            : unboxed_kernel<Operator>::run(self, other);
}

// torch's kernel copies `self` into the result with copy_, an operator, unless both are one tensor.
// So `self` is copied here, and the kernel gets the result as its `self`.
at::Tensor addmm(const at::Tensor& self, const at::Tensor& mat1, const at::Tensor& mat2,
                 const at::Scalar& beta, const at::Scalar& alpha) {
  const bool runs_on_pointers = is_ours(self) && is_like(self, self) && is_like(self, mat1) &&
                                is_like(self, mat2) && are_blas_matrices(mat1, mat2) &&
                                !beta.isComplex() && ready(self);
  if (!runs_on_pointers) {
    return unboxed_kernel<at::_ops::addmm>::run(self, mat1, mat2, beta, alpha);
  }
  kernel_on_device<at::native::structured_addmm_out_cpu> kernel;
  kernel.meta(self, mat1, mat2, beta, alpha);
  const at::Tensor& result = kernel.outputs.tensor;
  const auto expanded = at::expand_size(self, result.sizes(), "addmm_out");
  if (beta.toDouble() != 0) copy_by_loop(result, *expanded);
  kernel.impl(result, mat1, mat2, beta, alpha, result);
  return std::move(kernel.outputs.tensor);
}

}  // namespace

void register_matrices(registrar& to) {
  using at::_ops::bmm, at::_ops::dot, at::_ops::mm, at::_ops::vdot;
  using mm_kernel = structured<at::native::structured_mm_out_cpu, mm::schema>;
  using bmm_kernel = structured<at::native::structured_bmm_out_cpu, bmm::schema>;
  to.add<&addmm>("addmm");
  to.add<bmm, &product<bmm, &bmm_kernel::run, &are_blas_batches>>();
  to.add<dot, &product<dot, &at::native::dot, &are_for_blas>>();
  to.add<mm, &product<mm, &mm_kernel::run, &are_blas_matrices>>();
  add_native<vdot, &at::native::vdot>(to);  // dot, of real numbers
}

}  // namespace outback::ops
