// Convolutions of every kind. For a device that torch does not know it calls two operators that it
// has for this purpose only, convolution_overrideable and its backward. The CPU has no kernel for
// them; here they call the CPU's convolution on lent tensors.
#include <ATen/core/Tensor.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

#include <array>
#include <tuple>

#include "backend_template/ops/in_place/kernel_call.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using three_tensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, c10::SymIntArrayRef stride,
                       c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, bool transposed,
                       c10::SymIntArrayRef output_padding, c10::SymInt groups) {
  kernel_call call;
  const at::Tensor input_alias = call.lend(input);
  const at::Tensor weight_alias = call.lend(weight);
  const std::optional<at::Tensor> bias_alias = call.lend(bias);
  call.begin(operator_text{"aten::convolution_overrideable"});
  at::Tensor result = at::convolution_symint(input_alias, weight_alias, bias_alias, stride, padding,
                                             dilation, transposed, output_padding, groups);
  return call.take_back(std::move(result));
}

three_tensors convolution_backward(const at::Tensor& grad_output, const at::Tensor& input,
                                   const at::Tensor& weight, at::IntArrayRef stride,
                                   at::IntArrayRef padding, at::IntArrayRef dilation,
                                   bool transposed, at::IntArrayRef output_padding, int64_t groups,
                                   std::array<bool, 3> output_mask) {
  kernel_call call;
  const at::Tensor grad_alias = call.lend(grad_output);
  const at::Tensor input_alias = call.lend(input);
  const at::Tensor weight_alias = call.lend(weight);
  call.begin(operator_text{"aten::convolution_backward_overrideable"});
  // The CPU's operator takes the sizes of the bias, which this one leaves out: the number of output
  // channels.
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
  to.add<&convolution>("convolution_overrideable");
  to.add<&convolution_backward>("convolution_backward_overrideable");
}

}  // namespace outback::ops
