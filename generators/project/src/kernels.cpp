// Kernels of our own: one of PyTorch's operators, and an operator that PyTorch does not have. All
// others work without one; outback/kernels/ has what further ones are written with, loops over
// elements in elementwise.h before all. A kernel that serves only some calls declines the others
// (decline.h), and they run as without it.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sigmoid.h>
#include <outback/kernels/autograd.h>
#include <outback/kernels/runtime.h>
#include <outback/kernels/stream.h>

namespace {

// aten::zero_: one call of the driver, in the order of the current stream. What is not one piece of
// memory is left to fill_.
at::Tensor& zero_(at::Tensor& self) {
  if (!self.is_non_overlapping_and_dense()) return self.fill_(0);
  outback::kernels::kernel_stream stream(self.device());
  const outback_runtime& runtime = outback::kernels::runtime();
  const char zero = 0;
  outback::kernels::check(runtime.mem_fill(runtime.self, self.get_device(), self.data_ptr(),
                                           self.nbytes(), &zero, 1, stream.handle()),
                          "mem_fill");
  return self;
}

// acme::scaled_silu(x, scale) = scale * x * sigmoid(x). The device's kernel is made of PyTorch's
// operators here; a launch on stream.handle() is what it becomes.
at::Tensor scaled_silu_kernel(const at::Tensor& self, double scale) {
  return at::sigmoid(self).mul_(self).mul_(scale);
}

// The shape of the result, for torch.compile and fake tensors.
at::Tensor scaled_silu_meta(const at::Tensor& self, double /*scale*/) {
  TORCH_CHECK(self.is_floating_point(), "scaled_silu: expected a floating-point tensor, got ",
              self.scalar_type());
  return at::empty_like(self);
}

// The operator as C++ calls it: by the dispatcher, so that autograd and autocast see it.
at::Tensor scaled_silu(const at::Tensor& self, double scale) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("acme::scaled_silu", "")
                             .typed<at::Tensor(const at::Tensor&, double)>();
  return op.call(self, scale);
}

// Its derivative is made of PyTorch's operators too, and so has one itself.
struct scaled_silu_formula {
  static void setup_context(outback::kernels::autograd_context* ctx, const at::Tensor& self,
                            double scale, const at::Tensor& /*output*/) {
    ctx->save_for_backward({self});
    ctx->saved_data["scale"] = scale;
  }

  static outback::kernels::variable_list backward(outback::kernels::autograd_context* ctx,
                                                  const outback::kernels::variable_list& grads) {
    const at::Tensor x = ctx->get_saved_variables()[0];
    const at::Tensor s = at::sigmoid(x);
    const double scale = ctx->saved_data["scale"].toDouble();
    return {grads[0] * scale * s * (1 + x * (1 - s)), at::Tensor()};
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("zero_", &zero_);
}

TORCH_LIBRARY_FRAGMENT(acme, m) {
  m.def("scaled_silu(Tensor self, float scale=1.) -> Tensor", {at::Tag::pt2_compliant_tag});
}
TORCH_LIBRARY_IMPL(acme, PrivateUse1, m) {
  m.impl("scaled_silu", &scaled_silu_kernel);
}
TORCH_LIBRARY_IMPL(acme, Meta, m) {
  m.impl("scaled_silu", &scaled_silu_meta);
}
TORCH_LIBRARY_IMPL(acme, AutogradPrivateUse1, m) {
  m.impl("scaled_silu", outback::kernels::autograd<scaled_silu_formula, &scaled_silu>());
}
