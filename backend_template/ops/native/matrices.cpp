// Matrix products: torch's own kernels hand pointers to a BLAS.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm_native.h>
#include <ATen/ops/addmm_ops.h>
#include <ATen/ops/baddbmm_native.h>
#include <ATen/ops/baddbmm_ops.h>
#include <ATen/ops/bmm_native.h>
#include <ATen/ops/bmm_ops.h>
#include <ATen/ops/mm_native.h>
#include <ATen/ops/mm_ops.h>

#include "backend_template/ops/native/native.h"
#include "backend_template/ops/native/structured.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

// oneDNN takes tensors, and looks at their device. It multiplies half precision, and on a user's
// wish float32 by way of something shorter; on other processors than x86-64 more than that.
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

template <class Kernel, class Operator, class Signature = typename Operator::schema>
struct product;

template <class Kernel, class Operator, class... Others>
struct product<Kernel, Operator, at::Tensor(const at::Tensor&, Others...)> {
  static at::Tensor run(const at::Tensor& self, Others... others) {
    return is_for_blas(self.scalar_type())
               ? structured_call<Kernel, Operator>::run(self, std::forward<Others>(others)...)
               : unboxed_kernel<Operator>::run(self, std::forward<Others>(others)...);
  }
};

template <class Kernel, class Operator>
void add_product(registrar& to) {
  to.add<&product<Kernel, Operator>::run>(Operator::name + 6, Operator::overload_name);
}

}  // namespace

void register_matrices(registrar& to) {
  add_product<at::native::structured_addmm_out_cpu, at::_ops::addmm>(to);
  add_product<at::native::structured_baddbmm_out_cpu, at::_ops::baddbmm>(to);
  add_product<at::native::structured_bmm_out_cpu, at::_ops::bmm>(to);
  add_product<at::native::structured_mm_out_cpu, at::_ops::mm>(to);
}

}  // namespace outback::ops
