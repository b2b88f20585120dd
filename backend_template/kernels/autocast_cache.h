// Declares two functions of PyTorch as ATen/autocast_mode.h does. That header includes every
// operator of PyTorch, which takes the compiler four seconds. tests/kernels/autocast_test.cpp
// includes both headers: if PyTorch changed a result type, the test would not compile; if it
// changed a parameter, the test would not link.
#pragma once

#include <ATen/core/Tensor.h>

namespace at::autocast {

/// Returns the dtype to which torch.autocast casts on `device_type`, in the calling thread.
TORCH_API ScalarType get_autocast_dtype(c10::DeviceType device_type);

/// Returns a copy of `arg` in `to_type` if `arg` is a floating-point tensor of that device type and
/// not float64, else `arg` itself. PyTorch caches the copies of leaves that require a gradient
/// until autocast ends.
TORCH_API Tensor cached_cast(ScalarType to_type, const Tensor& arg, c10::DeviceType device_type);

}  // namespace at::autocast
