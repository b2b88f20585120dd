// Computes LSTM, GRU and RNN step by step, as torch does on the CPU: one product for the inputs of
// all steps, then the steps. It uses only operators that have derivatives, so autograd works
// without further code.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace outback::ops {

/// The state of a cell, or of all cells of a stack. The tensors of one cell have the shape (batch,
/// width). `c` is an LSTM's memory, and undefined for other cells.
struct cell_state {
  at::Tensor h;
  at::Tensor c;
};

/// The weights of one layer in one direction. The biases are undefined in a layer without biases;
/// the projection is undefined unless an LSTM has one.
struct layer_weights {
  at::Tensor input;
  at::Tensor hidden;
  at::Tensor input_bias;
  at::Tensor hidden_bias;
  at::Tensor projection;
};

/// A step: computes the new state from the input's part of the gates, with its bias added, and the
/// last state. It uses the same operations as torch on the CPU, in the same order.
using step = cell_state(const at::Tensor& from_input, const layer_weights& weights,
                        const cell_state& state);
step lstm_step;
step gru_step;
step rnn_tanh_step;
step rnn_relu_step;

/// Returns true if forward-mode autograd computes a derivative along the tensor.
inline bool has_tangent(const at::Tensor& tensor) {
  return tensor._fw_grad(/*level=*/0).defined();
}

/// The arguments that define the form of a whole stack of layers.
struct stack_form {
  int64_t gates;  // number of gates in a cell; one tensor has the weights of all gates
  bool has_biases;
  int64_t layers;
  bool bidirectional;
  bool batch_first;
  bool has_projection = false;

  size_t directions() const { return bidirectional ? 2 : 1; }
  size_t count() const { return static_cast<size_t>(layers) * directions(); }
  // Returns the number of weight tensors of a layer in one direction.
  size_t parts() const { return (has_biases ? 4U : 2U) + (has_projection ? 1U : 0U); }
};

/// Returns true if all sizes match. oneDNN's layer does not check them, and with this check the
/// steps need not. `input` is padded, with three dimensions and empty `batch_sizes`, or it is the
/// data of a packed sequence, with two dimensions.
bool fits_together(const stack_form& form, const at::Tensor& input, at::IntArrayRef batch_sizes,
                   const cell_state& state, at::TensorList weights);

/// Runs the layers on arguments that fit together (`fits_together`). Returns the output and the
/// last states of all cells.
std::pair<at::Tensor, cell_state> run_stack(const stack_form& form, step* next,
                                            const at::Tensor& input, at::IntArrayRef batch_sizes,
                                            const cell_state& state, at::TensorList weights,
                                            double dropout, bool train);

}  // namespace outback::ops
