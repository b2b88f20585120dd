// aten::mul, native, in all of its variants: PyTorch's meta function builds the TensorIterator,
// outback/kernels/elementwise.h makes it fit for the device, and the loop is ours.
#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/mul_meta.h>
#include <ATen/ops/mul_ops.h>
#include <outback/kernels/elementwise.h>
#include <outback/kernels/structured.h>

#include "host_loop.h"

namespace {

void multiply(const outback::kernels::elementwise_loop& loop) {
  acme::count_call("mul");
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(
      at::kBool, at::kHalf, at::kBFloat16, loop.dtype, "acme_mul",
      [&] { acme::run_on_host<scalar_t>(loop, [](auto input) { return input(0) * input(1); }); });
}

struct acme_mul : at::meta::structured_mul_Tensor {
  void impl(const at::Tensor& /*self*/, const at::Tensor& /*other*/, const at::Tensor& /*out*/) {
    outback::kernels::run_loops(*this, multiply, {.cpu_scalars_as_numbers = true});
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  outback::kernels::impl_structured<acme_mul, at::_ops::mul_Tensor, at::_ops::mul_out,
                                    at::_ops::mul__Tensor>(m);
}
