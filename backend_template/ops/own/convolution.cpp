// Convolutions of every kind. For a device that torch does not know it calls two operators that it
// has for this purpose only, convolution_overrideable and its backward. Neither the CPU nor a twin
// has a kernel for them. Here each gets its own convolution as one: then the device is served, and
// its captures are, as with any other operator of theirs.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_convolution_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

#include <array>
#include <optional>
#include <tuple>

#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using three_tensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

// Straight to the function that chooses the kernel. The operators on the way to it, convolution and
// _convolution, add what their kernels for a GPU are told, which the CPU's do not read.
at::Tensor convolution_on_cpu(const at::Tensor& input, const at::Tensor& weight,
                              const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                              at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                              at::IntArrayRef output_padding, int64_t groups) {
  return at::native::_convolution(input, weight, bias, stride, padding, dilation, transposed,
                                  output_padding, groups, /*benchmark=*/false,
                                  /*deterministic=*/false, /*cudnn_enabled=*/false,
                                  /*allow_tf32=*/false);
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                       at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                       at::IntArrayRef output_padding, int64_t groups) {
  return at::convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding,
                         groups);
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
  constexpr const char* name = "convolution_overrideable";
  constexpr const char* backward = "convolution_backward_overrideable";
  to.add<&convolution_on_cpu>(name, "", cpu_target.key());
  to.add<&convolution_backward>(backward, "", cpu_target.key());
  for (const kernel_target* twin : twin_targets()) {
    to.add<&convolution>(name, "", twin->key());
    to.add<&convolution_backward>(backward, "", twin->key());
  }
}

}  // namespace outback::ops
