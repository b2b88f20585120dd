// New dense tensors, for kernels that allocate their results.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

namespace outback::ops {

/// Uninitialised, on `device`, a device of ours with an index. No strides: contiguous in `format`.
at::Tensor new_tensor(at::IntArrayRef size, at::IntArrayRef stride, c10::ScalarType dtype,
                      c10::Device device, std::optional<c10::MemoryFormat> format = std::nullopt);

}  // namespace outback::ops
