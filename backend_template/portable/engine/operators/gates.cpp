// log_sigmoid and glu, and their derivatives.
#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/WrapDimMinimal.h>

#include "backend_template/portable/engine/operators.h"
#include "backend_template/portable/engine/operators/structured.h"

namespace outback::portable {
namespace {

using kind = body::kind;

constinit body log_sigmoid_body("log_sigmoid", 1, kind::floats);
constinit body log_sigmoid_buffer_body("log_sigmoid_buffer", 1, kind::floats);
constinit body log_sigmoid_backward_body("log_sigmoid_backward", 2, kind::floats);
constinit body glu_body("glu", 2, kind::floats);
constinit body glu_backward_first_body("glu_backward_first", 2, kind::floats);
constinit body glu_backward_second_body("glu_backward_second", 3, kind::floats);

void run_unary(body& which, const at::Tensor& self, const at::Tensor& out) {
  auto elements = at::TensorIteratorConfig()
                      .add_output(out)
                      .add_const_input(self)
                      .resize_outputs(false)
                      .build();
  run_elementwise(elements, which, {}, self.scalar_type());
}

// `buffer` is exp(-|self|), which the CPU's backward reads.
std::tuple<at::Tensor&, at::Tensor&> log_sigmoid_out(const at::Tensor& self, at::Tensor& out,
                                                     at::Tensor& buffer) {
  // PyTorch refuses other dtypes of the results.
  if (!self.is_floating_point() || out.scalar_type() != self.scalar_type() ||
      buffer.scalar_type() != self.scalar_type()) {
    throw no_kernel();
  }
  out.resize_as_(self);
  buffer.resize_as_(self, at::MemoryFormat::Contiguous);
  TORCH_CHECK(buffer.is_contiguous(),
              "Contiguous buffer required for log_sigmoid with out parameter");
  run_unary(log_sigmoid_body, self, out);
  run_unary(log_sigmoid_buffer_body, self, buffer);
  return {out, buffer};
}

std::tuple<at::Tensor, at::Tensor> log_sigmoid(const at::Tensor& self) {
  if (!self.is_floating_point()) throw no_kernel();
  at::Tensor out = at::empty_like(self, at::MemoryFormat::Contiguous);
  at::Tensor buffer = at::empty_like(self, at::MemoryFormat::Contiguous);
  run_unary(log_sigmoid_body, self, out);
  run_unary(log_sigmoid_buffer_body, self, buffer);
  return {std::move(out), std::move(buffer)};
}

at::TensorIterator log_sigmoid_gradient(const at::Tensor& grad_input, const at::Tensor& grad,
                                        const at::Tensor& self) {
  auto elements = at::TensorIteratorConfig()
                      .add_output(grad_input)
                      .add_const_input(grad)
                      .add_const_input(self)
                      .build();
  run_elementwise(elements, log_sigmoid_backward_body, {}, self.scalar_type());
  return elements;
}

at::Tensor& log_sigmoid_backward_out(const at::Tensor& grad, const at::Tensor& self,
                                     const at::Tensor& /*buffer*/, at::Tensor& grad_input) {
  log_sigmoid_gradient(grad_input, grad, self);
  return grad_input;
}

at::Tensor log_sigmoid_backward(const at::Tensor& grad, const at::Tensor& self,
                                const at::Tensor& /*buffer*/) {
  return log_sigmoid_gradient(at::Tensor(), grad, self).output();
}

at::Tensor& glu_backward_out(const at::Tensor& grad, const at::Tensor& self, int64_t dim,
                             at::Tensor& grad_input) {
  TORCH_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  if (!self.is_floating_point()) throw no_kernel();
  const int64_t along = c10::maybe_wrap_dim(dim, self.dim());
  const int64_t both = self.size(along), half = both / 2;
  TORCH_CHECK(both % 2 == 0, "Halving dimension must be even, but dimension ", along, " is size ",
              both);
  grad_input.resize_as_(self);
  const at::Tensor value = self.narrow(along, 0, half), gate = self.narrow(along, half, half);
  auto first = at::TensorIteratorConfig()
                   .add_owned_output(grad_input.narrow(along, 0, half))
                   .add_const_input(grad)
                   .add_const_input(gate)
                   .resize_outputs(false)
                   .build();
  auto second = at::TensorIteratorConfig()
                    .add_owned_output(grad_input.narrow(along, half, half))
                    .add_const_input(grad)
                    .add_const_input(value)
                    .add_const_input(gate)
                    .resize_outputs(false)
                    .build();
  run_elementwise(first, glu_backward_first_body, {}, self.scalar_type());
  run_elementwise(second, glu_backward_second_body, {}, self.scalar_type());
  return grad_input;
}

at::Tensor glu_backward(const at::Tensor& grad, const at::Tensor& self, int64_t dim) {
  at::Tensor grad_input = at::empty({0}, self.options());
  return glu_backward_out(grad, self, dim, grad_input);
}

// Forward-mode: the tangent of glu at x, along dx.
at::Tensor glu_jvp(const at::Tensor& glu, const at::Tensor& x, const at::Tensor& dx, int64_t dim) {
  if (!x.is_floating_point() || x.scalar_type() != dx.scalar_type()) throw no_kernel();
  const int64_t along = c10::maybe_wrap_dim(dim, x.dim()), half_size = glu.size(along);
  const at::Tensor gate = x.narrow(along, half_size, half_size);
  const at::Tensor of_value = dx.narrow(along, 0, half_size);
  const at::Tensor of_gate = dx.narrow(along, half_size, half_size);
  at::Tensor tangent = at::empty_like(glu), slope = at::empty_like(glu);
  const auto run = [&](body& which, const at::Tensor& first, const at::Tensor& out) {
    auto elements = at::TensorIteratorConfig()
                        .add_output(out)
                        .add_const_input(first)
                        .add_const_input(gate)
                        .build();
    run_elementwise(elements, which, {}, x.scalar_type());
  };
  run(glu_body, of_value, tangent);
  run(log_sigmoid_backward_body, of_gate, slope);
  return tangent.addcmul_(glu, slope);
}

}  // namespace

void add_gates(ops::registrar& to) {
  namespace ops = at::_ops;
  add<ops::log_sigmoid_forward, &log_sigmoid>(to);
  add<ops::log_sigmoid_forward_output, &log_sigmoid_out>(to);
  add<ops::log_sigmoid_backward, &log_sigmoid_backward>(to);
  add<ops::log_sigmoid_backward_grad_input, &log_sigmoid_backward_out>(to);
  add_structured<loop_of<at::meta::structured_glu, glu_body>, ops::glu, ops::glu_out>(to);
  add<ops::glu_backward, &glu_backward>(to);
  add<ops::glu_jvp, &glu_jvp>(to);
  add<ops::glu_backward_grad_input, &glu_backward_out>(to);
}

}  // namespace outback::portable
