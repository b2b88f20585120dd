// The device of ours that an operator's arguments name.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Device.h>

#include <optional>

namespace outback::ops {

/// Returns the first device of this backend that the arguments of `op`, the last ones on the stack,
/// name: a tensor's, a storage's, or a Device argument. Nothing if they name none. Throws
/// c10::AcceleratorError for a Device argument with an index out of range.
std::optional<c10::Device> device_named_by(const c10::OperatorHandle& op,
                                           const torch::jit::Stack& stack);

}  // namespace outback::ops
