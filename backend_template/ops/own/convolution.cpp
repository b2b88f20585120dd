// Convolutions of every kind. For a device that torch does not know it calls two operators that it
// has for this purpose only, convolution_overrideable and its backward. Neither the CPU nor a twin
// has a kernel for them. Here each gets its own convolution as one: then the device is served, and
// its captures are, as with any other operator of theirs.
#include <ATen/core/Tensor.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using three_tensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, c10::SymIntArrayRef stride,
                       c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, bool transposed,
                       c10::SymIntArrayRef output_padding, c10::SymInt groups) {
  return at::convolution_symint(input, weight, bias, stride, padding, dilation, transposed,
                                output_padding, std::move(groups));
}

three_tensors convolution_backward(const at::Tensor& grad_output, const at::Tensor& input,
                                   const at::Tensor& weight, at::IntArrayRef stride,
                                   at::IntArrayRef padding, at::IntArrayRef dilation,
                                   bool transposed, at::IntArrayRef output_padding, int64_t groups,
                                   std::array<bool, 3> output_mask) {
  // Their operator takes the sizes of the bias, which this one leaves out: the number of output
  // channels.
  const int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  return at::convolution_backward(grad_output, input, weight, at::IntArrayRef{channels}, stride,
                                  padding, dilation, transposed, output_padding, groups,
                                  output_mask);
}

}  // namespace

void register_convolutions(registrar& to) {
  const auto add_to = [&to](const kernel_target& target) {
    to.add<&convolution>("convolution_overrideable", "", target.key());
    to.add<&convolution_backward>("convolution_backward_overrideable", "", target.key());
  };
  add_to(cpu_target);
  for (const kernel_target* twin : twin_targets()) add_to(*twin);
}

}  // namespace outback::ops
