// Finds the device of this backend among an operator's arguments.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <optional>

namespace outback::ops {

/// Returns the first device of this backend among the arguments of `op`, the last values on the
/// stack: the device of a tensor or of a storage, or a Device argument. Returns std::nullopt if
/// there is no such device. Throws c10::AcceleratorError for a Device argument with an index out of
/// range.
std::optional<c10::Device> device_named_by(const c10::OperatorHandle& op,
                                           const torch::jit::Stack& stack);

}  // namespace outback::ops
