// LSTM, GRU and RNN over sequences. torch computes them in one way on the CPU and in another one on
// accelerators, which multiplies the input of each step by itself and expects a fused cell. Where
// the CPU's kernels serve the device anyway, this file takes the CPU's way: oneDNN's fused layer
// for an LSTM, else one product for the inputs of all steps and then the CPU's own steps. On a
// device with a twin it takes the twin's way, cuDNN's if torch would choose it. All of it consists
// of operators with derivatives, so autograd needs nothing else.
//
// The layers' operators stay torch's. They ask cudnn_is_acceptable of their input, and where it
// says yes they call the stubs named cudnn of the input's device: these are what is brought here.
// A kernel for the operators themselves would keep torch.export from decomposing them.
#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/RNN.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cudnn_is_acceptable_native.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_tanh_native.h>
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
#include "backend_template/ops/own/cudnn_layers.h"
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

// True if the vendor has no kernel for the product of matrices. Asks on each call, since a vendor's
// library may be loaded after the registration.
bool multiplies_on_cpu() {
  static const std::optional<c10::OperatorHandle> product = registrar::find("addmm", "");
  return product && registrar::serves(*product);
}

// Set while torch's own way runs a layer that was turned down here, since it asks again.
thread_local bool is_turned_down = false;

// cudnn_is_acceptable: true if the layer over `input` comes here. A twin's is cuDNN's if torch says
// so of a tensor of CUDA's own.
bool is_acceptable(const at::Tensor& input) {
  if (is_turned_down || !is_seen_as_it_is(input)) return false;
  if (has_twin(input)) {
    return at::native::cudnn_is_acceptable(
        make_shape_alias(target_of(input.device().index()), input));
  }
  const bool is_padded =
      input.dim() == 3;  // of packed sequences the CPU's way is the accelerators'
  return is_padded && input.numel() != 0 && !at::autocast::is_autocast_enabled(core::device_type) &&
         multiplies_on_cpu();
}

// Runs `composed`, torch's own function for a layer.
template <class Composed, class... Arguments>
auto turn_down(Composed* composed, const Arguments&... arguments) {
  struct guard {
    guard() { is_turned_down = true; }
    ~guard() { is_turned_down = false; }
  } turned_down;
  return composed(arguments...);
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

// The rest of what is_acceptable does not see.
bool takes_cpus_way(const stack_form& form, const at::Tensor& input, at::TensorList hidden,
                    at::TensorList weights) {
  const auto is_like_input = [&](const at::Tensor& tensor) {
    return is_seen_as_it_is(tensor) && tensor.device() == input.device() &&
           tensor.scalar_type() == input.scalar_type();
  };
  return std::all_of(hidden.begin(), hidden.end(), is_like_input) &&
         std::all_of(weights.begin(), weights.end(), is_like_input) &&
         std::all_of(hidden.begin(), hidden.end(), [&](const at::Tensor& state) {
           return fits_together(form, input, state, weights);
         });
}

void lstm(at::Tensor& output, at::Tensor& hy, at::Tensor& cy, const at::Tensor& input,
          at::TensorList hidden, at::TensorList weights, bool has_biases, int64_t layers,
          double dropout, bool train, bool bidirectional, bool batch_first) {
  if (has_twin(input)) {
    std::tie(output, hy, cy) = run_cudnn_layers(
        {cudnn_cell::lstm, has_biases, layers, dropout, train, bidirectional, batch_first}, input,
        /*batch_sizes=*/{}, hidden[0], hidden[1], weights);
    return;
  }
  const stack_form form{4, has_biases, layers, bidirectional, batch_first};
  const bool is_fused = at::globalContext().userEnabledMkldnn() && at::hasMKLDNN() &&
                        input.scalar_type() == c10::kFloat &&
                        takes_cpus_way(form, input, hidden, weights);
  if (!is_fused) {
    using layer = three_tensors(const at::Tensor&, at::TensorList, at::TensorList, bool, int64_t,
                                double, bool, bool, bool);
    std::tie(output, hy, cy) =
        turn_down<layer>(&at::native::lstm, input, hidden, weights, has_biases, layers, dropout,
                         train, bidirectional, batch_first);
    return;
  }
  // Calls the operator mkldnn_rnn_layer for each layer and direction.
  at::native::lstm_mkldnn_stub(c10::kCPU, output, hy, cy, input, hidden, weights, has_biases,
                               layers, dropout, train, bidirectional, batch_first);
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

// torch's own functions for gru, rnn_tanh and rnn_relu, of padded and of packed sequences.
using padded_layers = two_tensors(const at::Tensor& input, const at::Tensor& hidden,
                                  at::TensorList weights, bool has_biases, int64_t layers,
                                  double dropout, bool train, bool bidirectional, bool batch_first);
using packed_layers = two_tensors(const at::Tensor& data, const at::Tensor& batch_sizes,
                                  const at::Tensor& hidden, at::TensorList weights, bool has_biases,
                                  int64_t layers, double dropout, bool train, bool bidirectional);

// A stub of the three: `composed` is torch's own function.
template <padded_layers* composed, cudnn_cell cell, int64_t gates, step* next>
void run_layers(at::Tensor& output, at::Tensor& hy, const at::Tensor& input,
                const at::Tensor& hidden, at::TensorList weights, bool has_biases, int64_t layers,
                double dropout, bool train, bool bidirectional, bool batch_first) {
  if (has_twin(input)) {
    std::tie(output, hy, std::ignore) = run_cudnn_layers(
        {cell, has_biases, layers, dropout, train, bidirectional, batch_first}, input,
        /*batch_sizes=*/{}, hidden, /*cx=*/{}, weights);
    return;
  }
  const stack_form form{gates, has_biases, layers, bidirectional, batch_first};
  if (!takes_cpus_way(form, input, hidden, weights)) {
    std::tie(output, hy) = turn_down(composed, input, hidden, weights, has_biases, layers, dropout,
                                     train, bidirectional, batch_first);
    return;
  }
  std::vector<at::Tensor> states = hidden.unbind(0);
  output = batch_first ? input.transpose(0, 1) : input;
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
  hy = at::stack(states, 0);
}

void packed_lstm(at::Tensor& output, at::Tensor& hy, at::Tensor& cy, const at::Tensor& data,
                 const at::Tensor& batch_sizes, at::TensorList hidden, at::TensorList weights,
                 bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional) {
  if (has_twin(data)) {
    std::tie(output, hy, cy) =
        run_cudnn_layers({cudnn_cell::lstm, has_biases, layers, dropout, train, bidirectional,
                          /*batch_first=*/false},
                         data, batch_sizes, hidden[0], hidden[1], weights);
    return;
  }
  using layer = three_tensors(const at::Tensor&, const at::Tensor&, at::TensorList, at::TensorList,
                              bool, int64_t, double, bool, bool);
  std::tie(output, hy, cy) = turn_down<layer>(&at::native::lstm, data, batch_sizes, hidden, weights,
                                              has_biases, layers, dropout, train, bidirectional);
}

template <packed_layers* composed, cudnn_cell cell>
void run_packed(at::Tensor& output, at::Tensor& hy, const at::Tensor& data,
                const at::Tensor& batch_sizes, const at::Tensor& hidden, at::TensorList weights,
                bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional) {
  if (has_twin(data)) {
    std::tie(output, hy, std::ignore) = run_cudnn_layers(
        {cell, has_biases, layers, dropout, train, bidirectional, /*batch_first=*/false}, data,
        batch_sizes, hidden, /*cx=*/{}, weights);
    return;
  }
  std::tie(output, hy) = turn_down(composed, data, batch_sizes, hidden, weights, has_biases, layers,
                                   dropout, train, bidirectional);
}

// The stubs of one of the three.
template <padded_layers* padded, packed_layers* packed, cudnn_cell cell, int64_t gates, step* next>
void set_stubs(auto& stub, auto& packed_stub) {
  stub.set_privateuse1_dispatch_ptr(&run_layers<padded, cell, gates, next>);
  packed_stub.set_privateuse1_dispatch_ptr(&run_packed<packed, cell>);
}

}  // namespace

void register_recurrent_layers(registrar& to) {
  using namespace at::native;
  // For calls above autograd and below it.
  to.add<&is_acceptable>("cudnn_is_acceptable", "", c10::DispatchKey::AutogradPrivateUse1);
  to.add<&is_acceptable>("cudnn_is_acceptable");
  lstm_cudnn_stub.set_privateuse1_dispatch_ptr(&outback::ops::lstm);
  lstm_packed_cudnn_stub.set_privateuse1_dispatch_ptr(&packed_lstm);
  set_stubs<&gru, &gru, cudnn_cell::gru, 3, &gru_step>(gru_cudnn_stub, gru_packed_cudnn_stub);
  set_stubs<&rnn_tanh, &rnn_tanh, cudnn_cell::rnn_tanh, 1, &simple_step<&at::tanh>>(
      rnn_tanh_cudnn_stub, rnn_tanh_packed_cudnn_stub);
  set_stubs<&rnn_relu, &rnn_relu, cudnn_cell::rnn_relu, 1, &simple_step<&at::relu>>(
      rnn_relu_cudnn_stub, rnn_relu_packed_cudnn_stub);
}

}  // namespace outback::ops
