// LSTM, GRU and RNN step by step, as torch computes them on the CPU: one product for the inputs of
// all steps, then the steps. All of it consists of operators with derivatives, so autograd needs
// nothing else.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace outback::ops {

/// The state of a cell, or of all cells of a stack: (batch, width) of one. `c` is an LSTM's memory,
/// and undefined for other cells.
struct cell_state {
  at::Tensor h;
  at::Tensor c;
};

/// The weights of one layer in one direction. A bias is undefined if there is none, and so is the
/// projection, which an LSTM may have.
struct layer_weights {
  at::Tensor input;
  at::Tensor hidden;
  at::Tensor input_bias;
  at::Tensor hidden_bias;
  at::Tensor projection;
};

/// A step: the new state from the input's part of the gates, which has its bias, and the last
/// state. The operations are the CPU's, in its order.
using step = cell_state(const at::Tensor& from_input, const layer_weights& weights,
                        const cell_state& state);
step lstm_step;
step gru_step;
step rnn_tanh_step;
step rnn_relu_step;

/// True if forward-mode autograd computes a derivative along the tensor.
inline bool has_tangent(const at::Tensor& tensor) {
  return tensor._fw_grad(/*level=*/0).defined();
}

/// The arguments of a whole stack of layers that say its form.
struct stack_form {
  int64_t gates;  // of a cell: their weights lie in one tensor
  bool has_biases;
  int64_t layers;
  bool bidirectional;
  bool batch_first;
  bool has_projection = false;

  size_t directions() const { return bidirectional ? 2 : 1; }
  size_t count() const { return static_cast<size_t>(layers) * directions(); }
  // The weights of a layer in one direction.
  size_t parts() const { return (has_biases ? 4U : 2U) + (has_projection ? 1U : 0U); }
};

/// True if all sizes go together: oneDNN's layer checks none, and the steps need not. `input` is
/// padded, of three dimensions, with empty `batch_sizes`; or it is the data of a packed sequence,
/// of two.
bool fits_together(const stack_form& form, const at::Tensor& input, at::IntArrayRef batch_sizes,
                   const cell_state& state, at::TensorList weights);

/// Runs the layers on what fits together. Returns the output and the last states of all cells.
std::pair<at::Tensor, cell_state> run_stack(const stack_form& form, step* next,
                                            const at::Tensor& input, at::IntArrayRef batch_sizes,
                                            const cell_state& state, at::TensorList weights,
                                            double dropout, bool train);

}  // namespace outback::ops
