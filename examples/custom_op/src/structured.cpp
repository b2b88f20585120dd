// aten::mm, native: shapes and most of the checks are those of PyTorch's meta function. It leaves
// the dtypes to the kernel, which may support mixed ones.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/core/TensorAccessor.h>
#include <ATen/ops/mm_meta.h>
#include <ATen/ops/mm_ops.h>
#include <ATen/ops/resolve_conj.h>
#include <outback/kernels/stream.h>
#include <outback/kernels/structured.h>

#include "host_loop.h"

namespace {

template <class scalar_t>
void multiply(const at::Tensor& self, const at::Tensor& mat2, const at::Tensor& out) {
  const auto a = self.accessor<scalar_t, 2>();  // they know the strides
  const auto b = mat2.accessor<scalar_t, 2>();
  auto c = out.accessor<scalar_t, 2>();
  for (int64_t i = 0; i < c.size(0); ++i) {
    for (int64_t j = 0; j < c.size(1); ++j) {
      at::opmath_type<scalar_t> sum = 0;
      for (int64_t k = 0; k < a.size(1); ++k) {
        sum += static_cast<at::opmath_type<scalar_t>>(a[i][k]) *
               static_cast<at::opmath_type<scalar_t>>(b[k][j]);
      }
      c[i][j] = static_cast<scalar_t>(sum);
    }
  }
}

struct acme_mm : at::meta::structured_mm {
  void impl(const at::Tensor& self, const at::Tensor& mat2, const at::Tensor& out) {
    TORCH_CHECK(self.scalar_type() == mat2.scalar_type(), "mm: expected two matrices of the same ",
                "dtype, got ", self.scalar_type(), " and ", mat2.scalar_type());
    acme::count_call("mm");
    outback::kernels::kernel_stream stream(out.device());
    stream.wait();
    AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(
        at::kHalf, at::kBFloat16, out.scalar_type(), "acme_mm",
        [&] { multiply<scalar_t>(self.resolve_conj(), mat2.resolve_conj(), out); });
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  outback::kernels::impl_structured<acme_mm, at::_ops::mm, at::_ops::mm_out>(m);
}
