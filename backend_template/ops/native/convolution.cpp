// Convolutions of every kind, which torch sends to two operators of their own on devices it does
// not know.
#include <ATen/core/Tensor.h>
#include <ATen/ops/convolution_backward.h>

#include <array>
#include <tuple>

#include "backend_template/ops/native/native.h"
#include "backend_template/ops/redispatch/boxed_kernel.h"
#include "backend_template/ops/redispatch/cpu_call.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

using three_tensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

three_tensors convolution_backward(const at::Tensor& grad_output, const at::Tensor& input,
                                   const at::Tensor& weight, at::IntArrayRef stride,
                                   at::IntArrayRef padding, at::IntArrayRef dilation,
                                   bool transposed, at::IntArrayRef output_padding, int64_t groups,
                                   std::array<bool, 3> output_mask) {
  cpu_call call;
  const at::Tensor grad_alias = call.lend(grad_output);
  const at::Tensor input_alias = call.lend(input);
  const at::Tensor weight_alias = call.lend(weight);
  call.begin(operator_text{"aten::convolution_backward_overrideable"});
  const int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  auto [grad_input, grad_weight, grad_bias] = at::convolution_backward(
      grad_alias, input_alias, weight_alias, at::IntArrayRef{channels}, stride, padding, dilation,
      transposed, output_padding, groups, output_mask);
  call.finish();
  return {call.take_back(std::move(grad_input)), call.take_back(std::move(grad_weight)),
          call.take_back(std::move(grad_bias))};
}

}  // namespace

void register_convolutions(registrar& to) {
  if (const auto op = registrar::find("convolution_overrideable", "")) {
    to.add_boxed(*op, c10::DispatchKey::PrivateUse1, boxed_kernel_of("aten::convolution", ""));
  }
  to.add<&convolution_backward>("convolution_backward_overrideable");
}

}  // namespace outback::ops
