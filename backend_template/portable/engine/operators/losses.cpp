// Losses of pairs of values, and their derivatives.
#include <ATen/core/Reduction.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/squeeze.h>
#include <ATen/ops/sum.h>

#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

using kind = body::kind;

constinit body mse_loss_body("mse_loss", 2, kind::floats);
constinit body smooth_l1_loss_body("smooth_l1_loss", 2, kind::floats);
constinit body huber_loss_body("huber_loss", 2, kind::floats);
constinit body binary_cross_entropy_body("binary_cross_entropy", 2, kind::floats);
constinit body mse_loss_backward_body("mse_loss_backward", 3, kind::floats);
constinit body smooth_l1_loss_backward_body("smooth_l1_loss_backward", 3, kind::floats);
constinit body huber_loss_backward_body("huber_loss_backward", 3, kind::floats);
constinit body binary_cross_entropy_backward_body("binary_cross_entropy_backward", 3, kind::floats);

at::Tensor reduced(const at::Tensor& losses, int64_t reduction) {
  if (reduction == at::Reduction::Mean) return losses.mean();
  return reduction == at::Reduction::Sum ? losses.sum() : losses;
}

// `elements` has the output for no reduction.
void run_loss(at::TensorIteratorBase& elements, body& which, const numbers& given,
              const at::Tensor& self, const at::Tensor& target, int64_t reduction,
              const at::Tensor& out) {
  if (reduction == at::Reduction::None) return run_elementwise(elements, which, given);
  const at::Tensor none;
  auto losses = at::TensorIterator::borrowing_binary_op(none, self, target);
  run_elementwise(losses, which, given);
  at::Tensor result = out;
  if (reduction == at::Reduction::Mean) {
    at::mean_out(result, losses.output(), at::IntArrayRef{});
  } else {
    at::sum_out(result, losses.output(), at::IntArrayRef{});
  }
}

struct mse_loss : at::meta::structured_mse_loss {
  void impl(const at::Tensor& self, const at::Tensor& target, int64_t reduction,
            const at::Tensor& out) {
    run_loss(*this, mse_loss_body, {}, self, target, reduction, out);
  }
};

struct smooth_l1_loss : at::meta::structured_smooth_l1_loss {
  void impl(const at::Tensor& self, const at::Tensor& target, int64_t reduction, double beta,
            const at::Tensor& out) {
    run_loss(*this, smooth_l1_loss_body, numbers(beta), self, target, reduction, out);
  }
};

at::Tensor huber_loss(const at::Tensor& self, const at::Tensor& target, int64_t reduction,
                      double delta) {
  TORCH_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  const at::Tensor none;
  auto losses = at::TensorIterator::borrowing_binary_op(none, self, target);
  run_elementwise(losses, huber_loss_body, numbers(delta));
  return reduced(losses.output(), reduction);
}

at::Tensor& huber_loss_out(const at::Tensor& self, const at::Tensor& target, int64_t reduction,
                           double delta, at::Tensor& out) {
  TORCH_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  auto losses = at::TensorIterator::borrowing_binary_op(out, self, target);
  run_elementwise(losses, huber_loss_body, numbers(delta));
  if (reduction != at::Reduction::None) {
    const at::Tensor result = reduced(losses.output(), reduction);
    out.resize_({0});
    out.resize_as_(result);
    out.copy_(result);
  }
  return out;
}

void run_backward(body& which, const numbers& given, const at::Tensor& grad, const at::Tensor& self,
                  const at::Tensor& target, at::Tensor& grad_input) {
  auto elements = at::TensorIteratorConfig()
                      .add_output(grad_input)
                      .add_const_input(grad)
                      .add_const_input(self)
                      .add_const_input(target)
                      .build();
  run_elementwise(elements, which, given, grad_input.scalar_type());
}

double share_of(const at::Tensor& self, int64_t reduction) {
  return reduction == at::Reduction::Mean ? 1.0 / static_cast<double>(self.numel()) : 1.0;
}

at::Tensor& mse_loss_backward_out(const at::Tensor& grad, const at::Tensor& self,
                                  const at::Tensor& target, int64_t reduction,
                                  at::Tensor& grad_input) {
  // PyTorch promotes other dtypes.
  if (grad.scalar_type() != self.scalar_type() || target.scalar_type() != self.scalar_type() ||
      grad_input.scalar_type() != self.scalar_type()) {
    throw no_kernel();
  }
  const numbers given(2 * share_of(self, reduction));
  run_backward(mse_loss_backward_body, given, grad, self, target, grad_input);
  return grad_input;
}

at::Tensor mse_loss_backward(const at::Tensor& grad, const at::Tensor& self,
                             const at::Tensor& target, int64_t reduction) {
  at::Tensor grad_input = at::empty_like(self, at::MemoryFormat::Contiguous);
  return mse_loss_backward_out(grad, self, target, reduction, grad_input);
}

at::Tensor& smooth_l1_loss_backward_out(const at::Tensor& grad, const at::Tensor& self,
                                        const at::Tensor& target, int64_t reduction, double beta,
                                        at::Tensor& grad_input) {
  auto elements = at::TensorIteratorConfig()
                      .add_output(grad_input)
                      .add_const_input(grad)
                      .add_const_input(self)
                      .add_const_input(target)
                      .promote_inputs_to_common_dtype(true)
                      .cast_common_dtype_to_outputs(true)
                      .enforce_safe_casting_to_output(true)
                      .build();
  run_elementwise(elements, smooth_l1_loss_backward_body, numbers(share_of(self, reduction), beta));
  return grad_input;
}

at::Tensor& huber_loss_backward_out(const at::Tensor& grad, const at::Tensor& self,
                                    const at::Tensor& target, int64_t reduction, double delta,
                                    at::Tensor& grad_input) {
  const numbers given(share_of(self, reduction), delta);
  run_backward(huber_loss_backward_body, given, grad, self, target, grad_input);
  return grad_input;
}

// PyTorch squeezes the operands: a target of another shape with the same values fits.
at::Tensor& binary_cross_entropy_out(const at::Tensor& self, const at::Tensor& target,
                                     const std::optional<at::Tensor>& weight, int64_t reduction,
                                     at::Tensor& out) {
  auto losses = at::TensorIteratorConfig()
                    .add_owned_output(at::squeeze(out))
                    .add_owned_const_input(at::squeeze(self))
                    .add_owned_const_input(at::squeeze(target))
                    .build();
  run_elementwise(losses, binary_cross_entropy_body, {}, out.scalar_type());
  if (weight && weight->defined()) out.mul_(*weight);
  if (reduction != at::Reduction::None) {
    const at::Tensor result = reduced(out, reduction);
    out.resize_as_(result).copy_(result);
  }
  return out;
}

at::Tensor binary_cross_entropy(const at::Tensor& self, const at::Tensor& target,
                                const std::optional<at::Tensor>& weight, int64_t reduction) {
  at::Tensor out = at::empty_like(self);
  return binary_cross_entropy_out(self, target, weight, reduction, out);
}

at::Tensor& binary_cross_entropy_backward_out(const at::Tensor& grad, const at::Tensor& self,
                                              const at::Tensor& target,
                                              const std::optional<at::Tensor>& weight,
                                              int64_t reduction, at::Tensor& grad_input) {
  auto elements = at::TensorIteratorConfig()
                      .add_owned_output(at::squeeze(grad_input))
                      .add_owned_const_input(at::squeeze(grad))
                      .add_owned_const_input(at::squeeze(self))
                      .add_owned_const_input(at::squeeze(target))
                      .build();
  run_elementwise(elements, binary_cross_entropy_backward_body, numbers(share_of(self, reduction)),
                  grad_input.scalar_type());
  if (weight && weight->defined()) grad_input.mul_(*weight);
  return grad_input;
}

at::Tensor binary_cross_entropy_backward(const at::Tensor& grad, const at::Tensor& self,
                                         const at::Tensor& target,
                                         const std::optional<at::Tensor>& weight,
                                         int64_t reduction) {
  at::Tensor grad_input = at::empty_like(self);
  return binary_cross_entropy_backward_out(grad, self, target, weight, reduction, grad_input);
}

}  // namespace

void add_losses(ops::registrar& to) {
  namespace ops = at::_ops;
  add_structured<mse_loss, ops::mse_loss, ops::mse_loss_out>(to);
  add<ops::mse_loss_backward, &mse_loss_backward>(to);
  add<ops::mse_loss_backward_grad_input, &mse_loss_backward_out>(to);
  add_structured<smooth_l1_loss, ops::smooth_l1_loss, ops::smooth_l1_loss_out>(to);
  add<ops::smooth_l1_loss_backward_grad_input, &smooth_l1_loss_backward_out>(to);
  add<ops::huber_loss, &huber_loss>(to);
  add<ops::huber_loss_out, &huber_loss_out>(to);
  add<ops::huber_loss_backward_out, &huber_loss_backward_out>(to);
  add<ops::binary_cross_entropy, &binary_cross_entropy>(to);
  add<ops::binary_cross_entropy_out, &binary_cross_entropy_out>(to);
  add<ops::binary_cross_entropy_backward, &binary_cross_entropy_backward>(to);
  add<ops::binary_cross_entropy_backward_grad_input, &binary_cross_entropy_backward_out>(to);
}

}  // namespace outback::portable
