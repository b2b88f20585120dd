// outback::to_backend for torch::nn, in a header and a library, outback::nn, for what it includes.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/utils/rnn.h>

#include <optional>

#include "outback/backend.h"

namespace outback {

/// Moves the module's parameters, gradients and buffers to the device, in place: all of them, or
/// none when it throws. Tied parameters stay tied, and optimizers keep theirs. Unlike
/// torch::nn::Module::to it takes gradients along. No index: the current device. Not safe while
/// other threads use the module.
void to_backend(torch::nn::Module& module, std::optional<c10::DeviceIndex> index = std::nullopt,
                bool non_blocking = false);

/// True when the sequence's data is on the device.
bool is_backend(const torch::nn::utils::rnn::PackedSequence& sequence) noexcept;

/// The sequence on the device; its batch sizes stay on the CPU, where PyTorch wants them.
torch::nn::utils::rnn::PackedSequence to_backend(
    const torch::nn::utils::rnn::PackedSequence& sequence,
    std::optional<c10::DeviceIndex> index = std::nullopt, bool non_blocking = false);

}  // namespace outback
