// Two functions of PyTorch's, as ATen/autocast_mode.h declares them: that header brings every
// operator of PyTorch with it, which takes the compiler four seconds.
// tests/kernels/autocast_test.cpp includes both: other results would not compile, other parameters
// not link.
#pragma once

#include <ATen/core/Tensor.h>

namespace at::autocast {

TORCH_API ScalarType get_autocast_dtype(c10::DeviceType device_type);

/// `arg`, or a copy in `to_type` where it is a floating-point tensor of the device, but not of
/// float64. Copies of leaves that require a gradient are cached until autocast ends.
TORCH_API Tensor cached_cast(ScalarType to_type, const Tensor& arg, c10::DeviceType device_type);

}  // namespace at::autocast
