// The operator's definition, and its kernel for the device.
#include "scaled_silu.h"

#include <ATen/Dispatch.h>
#include <outback/kernels/elementwise.h>
#include <torch/library.h>

#include <cmath>

#include "host_loop.h"

namespace {

at::Tensor scaled_silu_on_device(const at::Tensor& self, double scale) {
  acme::count_call("scaled_silu");
  return outback::kernels::elementwise({self}, [&](const auto& loop) {
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, loop.dtype, "acme_scaled_silu", [&] {
      acme::run_on_host<scalar_t>(loop, [&](auto input) {
        const auto x = input(0);
        return static_cast<decltype(x)>(scale) * x / (1 + std::exp(-x));
      });
    });
  });
}

}  // namespace

at::Tensor acme::scaled_silu(const at::Tensor& self, double scale) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("acme::scaled_silu", "")
                             .typed<at::Tensor(const at::Tensor&, double)>();
  return op.call(self, scale);
}

TORCH_LIBRARY_FRAGMENT(acme, m) {
  m.def("scaled_silu(Tensor self, float scale=1.) -> Tensor", {at::Tag::pt2_compliant_tag});
}

TORCH_LIBRARY_IMPL(acme, PrivateUse1, m) {
  m.impl("scaled_silu", &scaled_silu_on_device);
}
