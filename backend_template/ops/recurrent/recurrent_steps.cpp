#include "backend_template/ops/recurrent/recurrent_steps.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace outback::ops {
namespace {

// The last state's part of the gates. It is new, so that a step may write it.
at::Tensor from_hidden(const layer_weights& weights, const cell_state& state) {
  return at::linear(state.h, weights.hidden, weights.hidden_bias);
}

cell_state narrow(const cell_state& state, int64_t begin, int64_t end) {
  return {state.h.narrow(0, begin, end - begin),
          state.c.defined() ? state.c.narrow(0, begin, end - begin) : at::Tensor()};
}

cell_state joined(const std::vector<cell_state>& states,
                  at::Tensor (*join)(at::TensorList tensors, int64_t dim)) {
  std::vector<at::Tensor> h, c;
  for (const cell_state& each : states) {
    h.push_back(each.h);
    if (each.c.defined()) c.push_back(each.c);
  }
  return {join(h, 0), c.empty() ? at::Tensor() : join(c, 0)};
}

at::Tensor join_rows(at::TensorList tensors, int64_t dim) {
  return at::cat(tensors, dim);
}

at::Tensor join_layers(at::TensorList tensors, int64_t dim) {
  return at::stack(tensors, dim);
}

// One layer in one direction: the outputs of all steps, and the last state.
struct direction {
  const layer_weights& weights;
  step* next;
  bool is_reversed;
};

std::pair<at::Tensor, cell_state> run_padded(const direction& way, const at::Tensor& input,
                                             cell_state state) {
  const auto steps = at::linear(input, way.weights.input, way.weights.input_bias).unbind(0);
  std::vector<at::Tensor> outputs(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const size_t at = way.is_reversed ? steps.size() - 1 - i : i;
    state = way.next(steps[at], way.weights, state);
    outputs[at] = state.h;
  }
  return {at::stack(outputs, 0), std::move(state)};
}

// The sequences are sorted by length, so that fewer and fewer take part in a step: the rows of
// those that have ended are kept for the end.
std::pair<at::Tensor, cell_state> run_packed_forward(const direction& way, const at::Tensor& data,
                                                     at::IntArrayRef batch_sizes,
                                                     cell_state state) {
  std::vector<at::Tensor> outputs;
  std::vector<cell_state> ended;
  int64_t begin = 0, rows = batch_sizes.front();
  for (const int64_t size : batch_sizes) {
    if (size < rows) {
      ended.push_back(narrow(state, size, rows));
      state = narrow(state, 0, size);
      rows = size;
    }
    state = way.next(data.narrow(0, begin, size), way.weights, state);
    begin += size;
    outputs.push_back(state.h);
  }
  ended.push_back(std::move(state));
  std::reverse(ended.begin(), ended.end());
  return {at::cat(outputs, 0), joined(ended, &join_rows)};
}

// Begins with the longest sequences alone: the others' rows join where they end.
std::pair<at::Tensor, cell_state> run_packed_backward(const direction& way, const at::Tensor& data,
                                                      at::IntArrayRef batch_sizes,
                                                      const cell_state& first) {
  std::vector<at::Tensor> outputs;
  int64_t end = data.size(0), rows = batch_sizes.back();
  cell_state state = narrow(first, 0, rows);
  for (auto size = batch_sizes.rbegin(); size != batch_sizes.rend(); ++size) {
    if (*size > rows) {
      state = joined({state, narrow(first, rows, *size)}, &join_rows);
      rows = *size;
    }
    state = way.next(data.narrow(0, end - *size, *size), way.weights, state);
    end -= *size;
    outputs.push_back(state.h);
  }
  std::reverse(outputs.begin(), outputs.end());
  return {at::cat(outputs, 0), std::move(state)};
}

std::pair<at::Tensor, cell_state> run_direction(const direction& way, const at::Tensor& input,
                                                at::IntArrayRef batch_sizes,
                                                const cell_state& state) {
  if (batch_sizes.empty()) return run_padded(way, input, state);
  const at::Tensor gates = at::linear(input, way.weights.input, way.weights.input_bias);
  return way.is_reversed ? run_packed_backward(way, gates, batch_sizes, state)
                         : run_packed_forward(way, gates, batch_sizes, state);
}

layer_weights weights_of(const stack_form& form, at::TensorList all, size_t cell) {
  const at::TensorList own = all.slice(cell * form.parts(), form.parts());
  layer_weights weights{own[0], own[1], {}, {}, {}};
  if (form.has_biases) weights.input_bias = own[2], weights.hidden_bias = own[3];
  if (form.has_projection) weights.projection = own.back();
  return weights;
}

bool is_packed_as(at::IntArrayRef batch_sizes, int64_t rows, int64_t batch) {
  return batch_sizes.front() == batch && batch_sizes.back() > 0 &&
         std::is_sorted(batch_sizes.rbegin(), batch_sizes.rend()) &&
         std::accumulate(batch_sizes.begin(), batch_sizes.end(), int64_t{0}) == rows;
}

}  // namespace

cell_state lstm_step(const at::Tensor& from_input, const layer_weights& weights,
                     const cell_state& state) {
  auto gates = from_hidden(weights, state).add_(from_input).unsafe_chunk(4, 1);
  const at::Tensor in = gates[0].sigmoid_(), forget = gates[1].sigmoid_();
  const at::Tensor fresh = gates[2].tanh_(), out = gates[3].sigmoid_();
  at::Tensor c = (forget * state.c).add_(in * fresh);
  at::Tensor h = out * c.tanh();
  if (weights.projection.defined()) h = at::matmul(h, weights.projection.t());
  return {std::move(h), std::move(c)};
}

cell_state gru_step(const at::Tensor& from_input, const layer_weights& weights,
                    const cell_state& state) {
  const auto in = from_input.unsafe_chunk(3, 1);
  auto own = from_hidden(weights, state).unsafe_chunk(3, 1);
  const at::Tensor reset = own[0].add_(in[0]).sigmoid_();
  const at::Tensor update = own[1].add_(in[1]).sigmoid_();
  const at::Tensor fresh = in[2].add(own[2].mul_(reset)).tanh_();
  return {(state.h - fresh).mul_(update).add_(fresh), {}};
}

cell_state rnn_tanh_step(const at::Tensor& from_input, const layer_weights& weights,
                         const cell_state& state) {
  return {at::tanh(from_hidden(weights, state).add_(from_input)), {}};
}

cell_state rnn_relu_step(const at::Tensor& from_input, const layer_weights& weights,
                         const cell_state& state) {
  return {at::relu(from_hidden(weights, state).add_(from_input)), {}};
}

bool fits_together(const stack_form& form, const at::Tensor& input, at::IntArrayRef batch_sizes,
                   const cell_state& state, at::TensorList weights) {
  const auto is_state = [&](const at::Tensor& each) {
    return each.dim() == 3 && each.size(0) == static_cast<int64_t>(form.count()) &&
           each.size(1) == state.h.size(1);
  };
  if (state.h.dim() != 3 || !is_state(state.h) || (state.c.defined() && !is_state(state.c)) ||
      weights.size() != form.count() * form.parts())
    return false;
  const int64_t batch = state.h.size(1), out = state.h.size(2);
  const int64_t width = state.c.defined() ? state.c.size(2) : out;
  if (form.has_projection != (out != width)) return false;
  if (batch_sizes.empty() ? input.dim() != 3 || input.size(form.batch_first ? 0 : 1) != batch
                          : input.dim() != 2 || !is_packed_as(batch_sizes, input.size(0), batch))
    return false;
  const int64_t rows = form.gates * width;
  int64_t inputs = input.size(-1);
  for (size_t cell = 0; cell < form.count(); ++cell) {
    if (cell == form.directions()) inputs = out * static_cast<int64_t>(form.directions());
    const layer_weights own = weights_of(form, weights, cell);
    const bool has_sizes =
        own.input.sizes() == at::IntArrayRef{rows, inputs} &&
        own.hidden.sizes() == at::IntArrayRef{rows, out} &&
        (!form.has_biases || (own.input_bias.sizes() == at::IntArrayRef{rows} &&
                              own.hidden_bias.sizes() == at::IntArrayRef{rows})) &&
        (!form.has_projection || own.projection.sizes() == at::IntArrayRef{out, width});
    if (!has_sizes) return false;
  }
  return true;
}

std::pair<at::Tensor, cell_state> run_stack(const stack_form& form, step* next,
                                            const at::Tensor& input, at::IntArrayRef batch_sizes,
                                            const cell_state& state, at::TensorList weights,
                                            double dropout, bool train) {
  const bool is_transposed = form.batch_first && batch_sizes.empty();
  const auto h = state.h.unbind(0);
  const auto c = state.c.defined() ? state.c.unbind(0) : std::vector<at::Tensor>(h.size());
  std::vector<cell_state> last;
  at::Tensor output = is_transposed ? input.transpose(0, 1) : input;
  for (size_t layer = 0; layer < form.count(); layer += form.directions()) {
    std::vector<at::Tensor> outputs;
    for (size_t cell = layer; cell < layer + form.directions(); ++cell) {
      const layer_weights own = weights_of(form, weights, cell);
      auto [steps, end] =
          run_direction({own, next, cell != layer}, output, batch_sizes, {h[cell], c[cell]});
      outputs.push_back(std::move(steps));
      last.push_back(std::move(end));
    }
    output = form.bidirectional ? at::cat(outputs, -1) : outputs.front();
    const bool is_last = layer + form.directions() == form.count();
    if (dropout != 0 && train && !is_last) output = at::dropout(output, dropout, /*train=*/true);
  }
  if (is_transposed) output.transpose_(0, 1);
  return {std::move(output), joined(last, &join_layers)};
}

}  // namespace outback::ops
