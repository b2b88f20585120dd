// The cells of LSTM and GRU, which torch expects to be one kernel each on an accelerator
// (aten/src/ATen/native/RNN.cpp). Here they are composed of operators of the device, so that a
// vendor's kernels for those serve them. A twin has such kernels.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_thnn_fused_gru_cell_backward_ops.h>
#include <ATen/ops/_thnn_fused_gru_cell_ops.h>
#include <ATen/ops/_thnn_fused_lstm_cell_backward_impl_ops.h>
#include <ATen/ops/_thnn_fused_lstm_cell_ops.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include "backend_template/ops/in_place/twin_first.h"
#include "backend_template/ops/recurrent/recurrent_steps.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using optional_tensor = std::optional<at::Tensor>;
using two_tensors = std::tuple<at::Tensor, at::Tensor>;
using cell_gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using gru_gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

at::Tensor with_bias(const at::Tensor& gates, const optional_tensor& bias) {
  return bias && bias->defined() ? gates + *bias : gates;
}

// The third result is the workspace, which holds what the backward pass needs: the four gates after
// their activation, side by side.
cell_gradients lstm_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                         const at::Tensor& cx, const optional_tensor& input_bias,
                         const optional_tensor& hidden_bias) {
  const at::Tensor gates =
      with_bias(input_gates, input_bias) + with_bias(hidden_gates, hidden_bias);
  const auto part = gates.unsafe_chunk(4, 1);
  const at::Tensor in = at::sigmoid(part[0]);
  const at::Tensor forget = at::sigmoid(part[1]);
  const at::Tensor cell = at::tanh(part[2]);
  const at::Tensor out = at::sigmoid(part[3]);
  at::Tensor cy = forget * cx + in * cell;
  at::Tensor hy = out * at::tanh(cy);
  return {std::move(hy), std::move(cy), at::cat({in, forget, cell, out}, 1)};
}

cell_gradients lstm_cell_backward(const optional_tensor& grad_hy, const optional_tensor& grad_cy,
                                  const at::Tensor& cx, const at::Tensor& cy,
                                  const at::Tensor& workspace, bool has_bias) {
  const bool has_hy = grad_hy && grad_hy->defined();
  const bool has_cy = grad_cy && grad_cy->defined();
  if (!has_hy && !has_cy) return {};
  const auto part = workspace.unsafe_chunk(4, 1);
  const at::Tensor &in = part[0], &forget = part[1], &cell = part[2], &out = part[3];
  const at::Tensor tanh_cy = at::tanh(cy);
  at::Tensor grad_c = has_cy ? *grad_cy : at::zeros_like(cx);
  at::Tensor grad_out = at::zeros_like(out);
  if (has_hy) {
    grad_c = grad_c + *grad_hy * out * (1 - tanh_cy * tanh_cy);
    grad_out = *grad_hy * tanh_cy * out * (1 - out);
  }
  at::Tensor grad_gates =
      at::cat({grad_c * cell * in * (1 - in), grad_c * cx * forget * (1 - forget),
               grad_c * in * (1 - cell * cell), grad_out},
              1);
  at::Tensor grad_bias = has_bias ? grad_gates.sum(0) : at::Tensor();
  return {std::move(grad_gates), grad_c * forget, std::move(grad_bias)};
}

// The workspace holds, side by side: reset gate, update gate, new gate, the previous state, and the
// hidden part of the new gate.
two_tensors gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                     const at::Tensor& hx, const optional_tensor& input_bias,
                     const optional_tensor& hidden_bias) {
  const auto from_input = with_bias(input_gates, input_bias).unsafe_chunk(3, 1);
  const auto from_hidden = with_bias(hidden_gates, hidden_bias).unsafe_chunk(3, 1);
  const at::Tensor reset = at::sigmoid(from_hidden[0] + from_input[0]);
  const at::Tensor update = at::sigmoid(from_hidden[1] + from_input[1]);
  const at::Tensor fresh = at::tanh(from_input[2] + from_hidden[2] * reset);
  at::Tensor hy = (hx - fresh) * update + fresh;
  return {std::move(hy), at::cat({reset, update, fresh, hx, from_hidden[2]}, 1)};
}

gru_gradients gru_cell_backward(const at::Tensor& grad_hy, const at::Tensor& workspace,
                                bool has_bias) {
  const auto part = workspace.unsafe_chunk(5, 1);
  const at::Tensor &reset = part[0], &update = part[1], &fresh = part[2], &hx = part[3],
                   &hidden = part[4];
  const at::Tensor grad_update = grad_hy * (hx - fresh) * update * (1 - update);
  const at::Tensor grad_fresh = grad_hy * (1 - update) * (1 - fresh * fresh);
  const at::Tensor grad_reset = grad_fresh * hidden * reset * (1 - reset);
  at::Tensor grad_input = at::cat({grad_reset, grad_update, grad_fresh}, 1);
  at::Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_fresh * reset}, 1);
  at::Tensor input_bias = has_bias ? grad_input.sum(0) : at::Tensor();
  at::Tensor hidden_bias = has_bias ? grad_hidden.sum(0) : at::Tensor();
  return {std::move(grad_input), std::move(grad_hidden), grad_hy * update, std::move(input_bias),
          std::move(hidden_bias)};
}

constexpr size_t arguments_of_cell = 5;  // of both: gates, gates, state, bias, bias

bool is_transformed(const c10::IValue& argument) {
  constexpr c10::DispatchKeySet transforms{c10::DispatchKey::FuncTorchGradWrapper,
                                           c10::DispatchKey::FuncTorchBatched};
  if (!argument.isTensor() || !argument.toTensor().defined()) return false;
  const at::Tensor& tensor = argument.toTensor();
  return tensor.key_set().has_any(transforms) || has_tangent(tensor);
}

// For autograd's key. torch has no forward derivative of a fused cell, and no rule for its backward
// pass under vmap: on the CPU a cell consists of operators that have both. So it does here where an
// argument is a transform's or has a tangent; elsewhere the derivative is torch's.
template <auto* cell>
class derivative_of_cell final : public c10::OperatorKernel {
 public:
  /// `of_torch` is the kernel that autograd's key has without this one.
  explicit derivative_of_cell(c10::SafeKernelFunction of_torch) : of_torch_(std::move(of_torch)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    const auto arguments = torch::jit::last(*stack, arguments_of_cell);
    if (std::none_of(arguments.begin(), arguments.end(), &is_transformed)) {
      return of_torch_.callBoxed(op, keys, stack);
    }
    auto results =
        cell(arguments[0].toTensor(), arguments[1].toTensor(), arguments[2].toTensor(),
             arguments[3].toOptional<at::Tensor>(), arguments[4].toOptional<at::Tensor>());
    torch::jit::drop(*stack, arguments_of_cell);
    std::apply([&](auto&... each) { (stack->emplace_back(std::move(each)), ...); }, results);
  }

 private:
  const c10::SafeKernelFunction of_torch_;
};

template <class Operator, auto* cell>
void add_derivative(registrar& to) {
  constexpr auto key = c10::DispatchKey::AutogradPrivateUse1;
  const auto op = registrar::find(Operator::name + std::string_view("aten::").size(), "");
  if (!op || !op->hasComputedKernelForDispatchKey(key)) return;
  to.add_boxed(*op, key,
               c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<derivative_of_cell<cell>>(
                   op->getComputedKernelForDispatchKey(key))));
}

}  // namespace

void register_recurrent_cells(registrar& to) {
  namespace ops = at::_ops;
  add_derivative<ops::_thnn_fused_lstm_cell, &lstm_cell>(to);
  add_derivative<ops::_thnn_fused_gru_cell, &gru_cell>(to);
  add_twin_first<ops::_thnn_fused_lstm_cell, &lstm_cell>(to);
  add_twin_first<ops::_thnn_fused_lstm_cell_backward_impl, &lstm_cell_backward>(to);
  add_twin_first<ops::_thnn_fused_gru_cell, &gru_cell>(to);
  add_twin_first<ops::_thnn_fused_gru_cell_backward, &gru_cell_backward>(to);
}

}  // namespace outback::ops
