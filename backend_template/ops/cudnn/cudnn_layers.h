// cuDNN's LSTM, GRU and RNN, on a device with a twin for which torch has cuDNN.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <tuple>

namespace outback::ops {

/// The kinds of cells, with cuDNN's numbers (cudnnRNNMode_t).
enum class cudnn_cell : int64_t { rnn_relu, rnn_tanh, lstm, gru };

/// A stack of layers, as torch's operators lstm, gru, rnn_tanh and rnn_relu describe it.
struct cudnn_layers {
  cudnn_cell cell;
  bool has_biases;
  int64_t layers;
  double dropout;
  bool train;
  bool bidirectional;
  bool batch_first;
};

/// Runs the layers and returns (output, hx, cx). `cx` is defined only for an LSTM, as argument and
/// as result. `batch_sizes` is undefined or, for a packed sequence, an int64 tensor on the CPU. The
/// results have derivatives. Thread-safe. Throws c10::Error for `batch_sizes` of another kind, and
/// what the operator _cudnn_rnn throws.
std::tuple<at::Tensor, at::Tensor, at::Tensor> run_cudnn_layers(
    const cudnn_layers& layers, const at::Tensor& input, const at::Tensor& batch_sizes,
    const at::Tensor& hx, const at::Tensor& cx, at::TensorList weights);

}  // namespace outback::ops
