// The derivative of acme::scaled_silu. It is made of PyTorch's operators, so it has one itself.
#include <ATen/TensorOperators.h>
#include <ATen/ops/sigmoid.h>
#include <outback/kernels/autograd.h>

#include "scaled_silu.h"

namespace {

using outback::kernels::autograd_context;
using outback::kernels::variable_list;

struct scaled_silu_formula {
  static void setup_context(autograd_context* ctx, const at::Tensor& self, double scale,
                            const at::Tensor& /*output*/) {
    ctx->save_for_backward({self});
    ctx->saved_data["scale"] = scale;
  }

  static variable_list backward(autograd_context* ctx, const variable_list& grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    const at::Tensor s = at::sigmoid(x);
    const double scale = ctx->saved_data["scale"].toDouble();
    return {grads[0] * scale * s * (1 + x * (1 - s)), at::Tensor()};
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(acme, AutogradPrivateUse1, m) {
  m.impl("scaled_silu", outback::kernels::autograd<scaled_silu_formula, &acme::scaled_silu>());
}
