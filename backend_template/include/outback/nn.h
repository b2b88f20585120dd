// outback::to_backend for modules and packed sequences of torch::nn, for C++ programs. They have
// their own header and library (link outback::nn), because torch::nn's headers are slow to compile.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/utils/rnn.h>

#include <optional>

#include "outback/backend.h"

namespace outback {

/// Moves the module's parameters, their gradients and the buffers to the device, in place. Unlike
/// torch::nn::Module::to, this moves gradients too. The tensor objects stay the same, so that tied
/// parameters stay tied and optimizers keep their parameters. Without `index` the target is the
/// calling thread's current device; `non_blocking` works as in `to_backend` for a tensor.
///
/// Copies everything before it changes the module, so that the module is unchanged if a copy fails.
/// Throws the same exceptions as `to_backend` for a tensor; c10::TypeError names the parameter or
/// buffer with the unsupported dtype. No other thread may use the module during the call.
void to_backend(torch::nn::Module& module, std::optional<c10::DeviceIndex> index = std::nullopt,
                bool non_blocking = false);

/// Returns true if the sequence's data is on a device of this backend.
bool is_backend(const torch::nn::utils::rnn::PackedSequence& sequence) noexcept;

/// Returns the sequence with its data and indices on the device. Its batch sizes stay on the CPU,
/// where PyTorch expects them. Throws the same exceptions as `to_backend` for a tensor.
torch::nn::utils::rnn::PackedSequence to_backend(
    const torch::nn::utils::rnn::PackedSequence& sequence,
    std::optional<c10::DeviceIndex> index = std::nullopt, bool non_blocking = false);

}  // namespace outback
