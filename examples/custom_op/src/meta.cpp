// The shape of what acme::scaled_silu returns, for FakeTensor, torch.compile and make_fx. Sizes may
// be symbols there: at::empty_like and the sym_ functions take them.
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

namespace {

at::Tensor scaled_silu_shape(const at::Tensor& self, double /*scale*/) {
  TORCH_CHECK(self.is_floating_point(), "scaled_silu: expected a floating-point tensor, got ",
              self.scalar_type());
  return at::empty_like(self);
}

}  // namespace

TORCH_LIBRARY_IMPL(acme, Meta, m) {
  m.impl("scaled_silu", &scaled_silu_shape);
}
