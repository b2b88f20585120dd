// LSTM, GRU and RNN over padded sequences. torch computes them in one way on the CPU and in another
// one on accelerators, which multiplies the input of each step by itself and expects a fused cell.
// Where the CPU's kernels serve the device anyway, this file takes the CPU's way: oneDNN's fused
// layer for an LSTM, else one product for the inputs of all steps and then the CPU's own steps. On
// a device with a twin it takes the twin's way, cuDNN's if torch would choose it. All of it
// consists of operators with derivatives, so autograd needs nothing else.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/RNN.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cudnn_is_acceptable_native.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/gru_ops.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/lstm_ops.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_relu_ops.h>
#include <ATen/ops/rnn_tanh_native.h>
#include <ATen/ops/rnn_tanh_ops.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tanh.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/tensor_fields.h"
#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

using two_tensors = std::tuple<at::Tensor, at::Tensor>;
using three_tensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

// True if the tensor is neither a subclass nor a wrapper of a transform: what is traced there is
// the accelerator's way, which names no operator of the CPU's.
bool is_seen_as_it_is(const at::Tensor& tensor) {
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  return impl.is_privateuseone() && !impl.key_set().has_any(wrapper_keys) &&
         !impl.has_symbolic_sizes_strides();
}

// True if the layer is cuDNN's, as at::cudnn_is_acceptable says, which asks for tensors of CUDA's
// own.
bool is_for_cudnn(const at::Tensor& input) {
  return has_twin(input) && is_seen_as_it_is(input) &&
         at::native::cudnn_is_acceptable(
             make_shape_alias(target_of(input.device().index()), input));
}

// True if the vendor has no kernel for the product of matrices. Asks on each call, since a vendor's
// library may be loaded after the registration.
bool multiplies_on_cpu() {
  static const std::optional<c10::OperatorHandle> product = registrar::find("addmm", "");
  return product && registrar::serves(*product);
}

// The arguments of a whole layer stack that say its form.
struct stack_form {
  int64_t gates;  // of a cell: their weights lie in one tensor
  bool has_biases;
  int64_t layers;
  bool bidirectional;
  bool batch_first;

  size_t directions() const { return bidirectional ? 2 : 1; }
  size_t count() const { return static_cast<size_t>(layers) * directions(); }
  size_t parts() const { return has_biases ? 4 : 2; }  // weights of a layer in one direction
};

// oneDNN's layer checks no sizes: what does not fit is for torch's own way, which refuses it.
bool fits_together(const stack_form& form, const at::Tensor& input, const at::Tensor& hidden,
                   at::TensorList weights) {
  if (input.dim() != 3 || hidden.dim() != 3 || weights.size() != form.count() * form.parts())
    return false;
  const int64_t width = hidden.size(2);
  if (hidden.size(0) != static_cast<int64_t>(form.count()) ||
      hidden.size(1) != input.size(form.batch_first ? 0 : 1))
    return false;
  int64_t inputs = input.size(2);
  for (size_t i = 0; i < weights.size(); ++i) {
    const size_t part = i % form.parts();
    if (part == 0 && i >= form.directions() * form.parts())
      inputs = width * static_cast<int64_t>(form.directions());
    const at::Tensor& weight = weights[i];
    const bool has_sizes = part == 0 ? weight.sizes() == at::IntArrayRef{form.gates * width, inputs}
                           : part == 1
                               ? weight.sizes() == at::IntArrayRef{form.gates * width, width}
                               : weight.sizes() == at::IntArrayRef{form.gates * width};
    if (!has_sizes) return false;
  }
  return true;
}

bool takes_cpus_way(const stack_form& form, const at::Tensor& input, at::TensorList hidden,
                    at::TensorList weights) {
  const auto is_like_input = [&](const at::Tensor& tensor) {
    return is_seen_as_it_is(tensor) && tensor.device() == input.device() &&
           tensor.scalar_type() == input.scalar_type();
  };
  return is_seen_as_it_is(input) && !has_twin(input) &&
         std::all_of(hidden.begin(), hidden.end(), is_like_input) &&
         std::all_of(weights.begin(), weights.end(), is_like_input) && input.numel() != 0 &&
         std::all_of(
             hidden.begin(), hidden.end(),
             [&](const at::Tensor& state) { return fits_together(form, input, state, weights); }) &&
         !at::autocast::is_autocast_enabled(core::device_type) && multiplies_on_cpu();
}

three_tensors lstm(const at::Tensor& input, at::TensorList hidden, at::TensorList weights,
                   bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional,
                   bool batch_first) {
  at::Tensor output, hy, cy;
  if (hidden.size() == 2 && is_for_cudnn(input)) {
    at::native::lstm_cudnn_stub(c10::kCUDA, output, hy, cy, input, hidden, weights, has_biases,
                                layers, dropout, train, bidirectional, batch_first);
    return {std::move(output), std::move(hy), std::move(cy)};
  }
  const stack_form form{4, has_biases, layers, bidirectional, batch_first};
  const bool is_fused = at::globalContext().userEnabledMkldnn() && at::hasMKLDNN() &&
                        input.scalar_type() == c10::kFloat && hidden.size() == 2 &&
                        takes_cpus_way(form, input, hidden, weights);
  if (!is_fused) {
    return at::native::lstm(input, hidden, weights, has_biases, layers, dropout, train,
                            bidirectional, batch_first);
  }
  // Calls the operator mkldnn_rnn_layer for each layer and direction.
  at::native::lstm_mkldnn_stub(c10::kCPU, output, hy, cy, input, hidden, weights, has_biases,
                               layers, dropout, train, bidirectional, batch_first);
  return {std::move(output), std::move(hy), std::move(cy)};
}

// The weights of one layer in one direction: of the input and of the hidden state.
struct layer_weights {
  const at::Tensor& input;
  const at::Tensor& hidden;
  const at::Tensor input_bias;  // undefined if there is none
  const at::Tensor hidden_bias;
};

// A step: the new hidden state from the input's part of the gates and the hidden state's part. It
// may write the hidden part, which is new. The operations are the CPU's, in its order.
using step = at::Tensor(const at::Tensor& from_input, const at::Tensor& from_hidden,
                        const at::Tensor& hidden);

at::Tensor gru_step(const at::Tensor& from_input, const at::Tensor& from_hidden,
                    const at::Tensor& hidden) {
  const auto in = from_input.unsafe_chunk(3, 1);
  auto own = from_hidden.unsafe_chunk(3, 1);
  const at::Tensor reset = own[0].add_(in[0]).sigmoid_();
  const at::Tensor update = own[1].add_(in[1]).sigmoid_();
  const at::Tensor fresh = in[2].add(own[2].mul_(reset)).tanh_();
  return (hidden - fresh).mul_(update).add_(fresh);
}

template <at::Tensor (*activation)(const at::Tensor&)>
at::Tensor simple_step(const at::Tensor& from_input, const at::Tensor& from_hidden,
                       const at::Tensor& /*hidden*/) {
  return activation(from_hidden.add_(from_input));
}

// Leaves the last state in `hidden`, and returns those of all steps in the order of the input.
at::Tensor run_direction(const at::Tensor& input, at::Tensor& hidden, const layer_weights& weights,
                         step* next, bool is_reversed) {
  const auto steps = at::linear(input, weights.input, weights.input_bias).unbind(0);
  std::vector<at::Tensor> states(steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const size_t at = is_reversed ? steps.size() - 1 - i : i;
    hidden = next(steps[at], at::linear(hidden, weights.hidden, weights.hidden_bias), hidden);
    states[at] = hidden;
  }
  return at::stack(states, 0);
}

// `Operator` is gru, rnn_tanh or rnn_relu; `composed` is torch's own function for it, and `cudnn`
// its stub.
template <class Operator, typename Operator::schema* composed, auto& cudnn, int64_t gates,
          step* next>
two_tensors run_layers(const at::Tensor& input, const at::Tensor& hidden, at::TensorList weights,
                       bool has_biases, int64_t layers, double dropout, bool train,
                       bool bidirectional, bool batch_first) {
  if (is_for_cudnn(input)) {
    at::Tensor output, hy;
    cudnn(c10::kCUDA, output, hy, input, hidden, weights, has_biases, layers, dropout, train,
          bidirectional, batch_first);
    return {std::move(output), std::move(hy)};
  }
  const stack_form form{gates, has_biases, layers, bidirectional, batch_first};
  if (!takes_cpus_way(form, input, hidden, weights)) {
    return composed(input, hidden, weights, has_biases, layers, dropout, train, bidirectional,
                    batch_first);
  }
  std::vector<at::Tensor> states = hidden.unbind(0);
  at::Tensor output = batch_first ? input.transpose(0, 1) : input;
  for (size_t layer = 0; layer < form.count(); layer += form.directions()) {
    std::vector<at::Tensor> outputs;
    for (size_t i = layer; i < layer + form.directions(); ++i) {
      const at::TensorList its = weights.slice(i * form.parts(), form.parts());
      const layer_weights own{its[0], its[1], has_biases ? its[2] : at::Tensor(),
                              has_biases ? its[3] : at::Tensor()};
      outputs.push_back(run_direction(output, states[i], own, next, i != layer));
    }
    output = bidirectional ? at::cat(outputs, -1) : outputs.front();
    const bool is_last = layer + form.directions() == form.count();
    if (dropout != 0 && train && !is_last) output = at::dropout(output, dropout, /*train=*/true);
  }
  if (batch_first) output.transpose_(0, 1);
  return {std::move(output), at::stack(states, 0)};
}

// Over packed sequences. The CPU's way is the accelerators' there.
three_tensors packed_lstm(const at::Tensor& data, const at::Tensor& batch_sizes,
                          at::TensorList hidden, at::TensorList weights, bool has_biases,
                          int64_t layers, double dropout, bool train, bool bidirectional) {
  if (hidden.size() != 2 || !is_for_cudnn(data)) {
    return at::native::lstm(data, batch_sizes, hidden, weights, has_biases, layers, dropout, train,
                            bidirectional);
  }
  at::Tensor output, hy, cy;
  at::native::lstm_packed_cudnn_stub(c10::kCUDA, output, hy, cy, data, batch_sizes, hidden, weights,
                                     has_biases, layers, dropout, train, bidirectional);
  return {std::move(output), std::move(hy), std::move(cy)};
}

template <class Operator, typename Operator::schema* composed, auto& cudnn>
two_tensors packed_layers(const at::Tensor& data, const at::Tensor& batch_sizes,
                          const at::Tensor& hidden, at::TensorList weights, bool has_biases,
                          int64_t layers, double dropout, bool train, bool bidirectional) {
  if (!is_for_cudnn(data)) {
    return composed(data, batch_sizes, hidden, weights, has_biases, layers, dropout, train,
                    bidirectional);
  }
  at::Tensor output, hy;
  cudnn(c10::kCUDA, output, hy, data, batch_sizes, hidden, weights, has_biases, layers, dropout,
        train, bidirectional);
  return {std::move(output), std::move(hy)};
}

// For calls above autograd and below it. A kernel at autograd's key takes the place of the composed
// form, whose derivative is that of its parts: so is this one's.
template <auto* function>
void add_layer(registrar& to, const char* name, const char* overload = "input") {
  to.add<function>(name, overload, c10::DispatchKey::AutogradPrivateUse1);
  to.add<function>(name, overload);
}

}  // namespace

void register_recurrent_layers(registrar& to) {
  namespace ops = at::_ops;
  using namespace at::native;
  add_layer<&outback::ops::lstm>(to, "lstm");
  add_layer<&run_layers<ops::gru_input, &gru, gru_cudnn_stub, 3, &gru_step>>(to, "gru");
  add_layer<
      &run_layers<ops::rnn_tanh_input, &rnn_tanh, rnn_tanh_cudnn_stub, 1, &simple_step<&at::tanh>>>(
      to, "rnn_tanh");
  add_layer<
      &run_layers<ops::rnn_relu_input, &rnn_relu, rnn_relu_cudnn_stub, 1, &simple_step<&at::relu>>>(
      to, "rnn_relu");
  if (twin_targets().empty()) return;
  add_layer<&packed_lstm>(to, "lstm", "data");
  add_layer<&packed_layers<ops::gru_data, &gru, gru_packed_cudnn_stub>>(to, "gru", "data");
  add_layer<&packed_layers<ops::rnn_tanh_data, &rnn_tanh, rnn_tanh_packed_cudnn_stub>>(
      to, "rnn_tanh", "data");
  add_layer<&packed_layers<ops::rnn_relu_data, &rnn_relu, rnn_relu_packed_cudnn_stub>>(
      to, "rnn_relu", "data");
}

}  // namespace outback::ops
