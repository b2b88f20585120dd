// New dense tensors of the device, for kernels that allocate their results.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

namespace outback::ops {

/// Returns an uninitialised tensor on `device`, a device of this backend with an index; does not
/// change the calling thread's current device. If `stride` is empty, the tensor is contiguous in
/// `format`. `stride` counts elements, not bytes.
///
/// Throws c10::TypeError for a dtype that the device does not support, c10::OutOfMemoryError, and
/// c10::AcceleratorError for an index out of range.
at::Tensor new_tensor(at::IntArrayRef size, at::IntArrayRef stride, c10::ScalarType dtype,
                      c10::Device device, std::optional<c10::MemoryFormat> format = std::nullopt);

}  // namespace outback::ops
