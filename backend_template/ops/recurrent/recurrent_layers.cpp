// LSTM, GRU and RNN over sequences. torch computes them in one way on the CPU and in another one on
// accelerators, which multiplies the input of each step by itself and expects a fused cell. Where
// the CPU's kernels serve the device anyway, this file takes the CPU's way: oneDNN's fused layer
// for a padded LSTM, else the CPU's steps (recurrent_steps.h). On a device with a twin it takes the
// twin's way, cuDNN's if torch would choose it (cudnn_layers.h).
//
// The layers' operators stay torch's. They ask cudnn_is_acceptable of their input, and where it
// says yes they call the stubs named cudnn of the input's device: these are what is brought here.
// A kernel for the operators themselves would keep torch.export from decomposing them.
#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/RNN.h>
#include <ATen/ops/cudnn_is_acceptable_native.h>
#include <ATen/ops/gru_native.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/rnn_relu_native.h>
#include <ATen/ops/rnn_tanh_native.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/ops/cudnn/cudnn_layers.h"
#include "backend_template/ops/in_place/alias.h"
#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/recurrent/recurrent_steps.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"
#include "backend_template/ops/tensors/tensor_fields.h"

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
  return input.numel() != 0 && !at::autocast::is_autocast_enabled(core::device_type) &&
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

// The sizes of a packed sequence's batches, int64 in CPU memory. Empty if they are not that, which
// torch's own way refuses.
at::IntArrayRef sizes_in(const at::Tensor& batch_sizes) {
  const bool are_sizes = batch_sizes.dim() == 1 && batch_sizes.device().is_cpu() &&
                         batch_sizes.scalar_type() == c10::kLong && batch_sizes.is_contiguous();
  if (!are_sizes) return {};
  return {batch_sizes.const_data_ptr<int64_t>(), static_cast<size_t>(batch_sizes.size(0))};
}

// The rest of what is_acceptable does not see.
bool takes_cpus_way(const stack_form& form, const at::Tensor& input, at::IntArrayRef batch_sizes,
                    const cell_state& state, at::TensorList weights) {
  const auto is_like_input = [&](const at::Tensor& tensor) {
    return is_seen_as_it_is(tensor) && tensor.device() == input.device() &&
           tensor.scalar_type() == input.scalar_type();
  };
  return is_like_input(state.h) && (!state.c.defined() || is_like_input(state.c)) &&
         std::all_of(weights.begin(), weights.end(), is_like_input) &&
         fits_together(form, input, batch_sizes, state, weights);
}

// torch's own functions for the layers, of padded and of packed sequences.
using lstm_of_padded = three_tensors(const at::Tensor&, at::TensorList, at::TensorList, bool,
                                     int64_t, double, bool, bool, bool);
using lstm_of_packed = three_tensors(const at::Tensor&, const at::Tensor&, at::TensorList,
                                     at::TensorList, bool, int64_t, double, bool, bool);
using padded_layers = two_tensors(const at::Tensor& input, const at::Tensor& hidden,
                                  at::TensorList weights, bool has_biases, int64_t layers,
                                  double dropout, bool train, bool bidirectional, bool batch_first);
using packed_layers = two_tensors(const at::Tensor& data, const at::Tensor& batch_sizes,
                                  const at::Tensor& hidden, at::TensorList weights, bool has_biases,
                                  int64_t layers, double dropout, bool train, bool bidirectional);

bool has_projection(at::TensorList hidden) {
  return hidden[0].dim() == 3 && hidden[1].dim() == 3 && hidden[0].size(2) != hidden[1].size(2);
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
  const cell_state state{hidden[0], hidden[1]};
  const stack_form form{4, has_biases, layers, bidirectional, batch_first, has_projection(hidden)};
  if (!takes_cpus_way(form, input, /*batch_sizes=*/{}, state, weights)) {
    std::tie(output, hy, cy) =
        turn_down<lstm_of_padded>(&at::native::lstm, input, hidden, weights, has_biases, layers,
                                  dropout, train, bidirectional, batch_first);
    return;
  }
  // oneDNN's layer has no forward derivative, its steps have one.
  const bool has_tangents = has_tangent(input) ||
                            std::any_of(hidden.begin(), hidden.end(), &has_tangent) ||
                            std::any_of(weights.begin(), weights.end(), &has_tangent);
  const bool is_fused = at::globalContext().userEnabledMkldnn() && at::hasMKLDNN() &&
                        input.scalar_type() == c10::kFloat && !form.has_projection && !has_tangents;
  if (is_fused) {
    // Calls the operator mkldnn_rnn_layer for each layer and direction.
    at::native::lstm_mkldnn_stub(c10::kCPU, output, hy, cy, input, hidden, weights, has_biases,
                                 layers, dropout, train, bidirectional, batch_first);
    return;
  }
  auto [outputs, last] = run_stack(form, &lstm_step, input, {}, state, weights, dropout, train);
  output = std::move(outputs), hy = std::move(last.h), cy = std::move(last.c);
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
  const at::IntArrayRef sizes = sizes_in(batch_sizes);
  const cell_state state{hidden[0], hidden[1]};
  const stack_form form{
      4, has_biases, layers, bidirectional, /*batch_first=*/false, has_projection(hidden)};
  if (sizes.empty() || !takes_cpus_way(form, data, sizes, state, weights)) {
    std::tie(output, hy, cy) =
        turn_down<lstm_of_packed>(&at::native::lstm, data, batch_sizes, hidden, weights, has_biases,
                                  layers, dropout, train, bidirectional);
    return;
  }
  auto [outputs, last] = run_stack(form, &lstm_step, data, sizes, state, weights, dropout, train);
  output = std::move(outputs), hy = std::move(last.h), cy = std::move(last.c);
}

// A stub of the other three: `composed` is torch's own function.
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
  const cell_state state{hidden, {}};
  const stack_form form{gates, has_biases, layers, bidirectional, batch_first};
  if (!takes_cpus_way(form, input, /*batch_sizes=*/{}, state, weights)) {
    std::tie(output, hy) = turn_down(composed, input, hidden, weights, has_biases, layers, dropout,
                                     train, bidirectional, batch_first);
    return;
  }
  auto [outputs, last] = run_stack(form, next, input, {}, state, weights, dropout, train);
  output = std::move(outputs), hy = std::move(last.h);
}

template <packed_layers* composed, cudnn_cell cell, int64_t gates, step* next>
void run_packed(at::Tensor& output, at::Tensor& hy, const at::Tensor& data,
                const at::Tensor& batch_sizes, const at::Tensor& hidden, at::TensorList weights,
                bool has_biases, int64_t layers, double dropout, bool train, bool bidirectional) {
  if (has_twin(data)) {
    std::tie(output, hy, std::ignore) = run_cudnn_layers(
        {cell, has_biases, layers, dropout, train, bidirectional, /*batch_first=*/false}, data,
        batch_sizes, hidden, /*cx=*/{}, weights);
    return;
  }
  const at::IntArrayRef sizes = sizes_in(batch_sizes);
  const cell_state state{hidden, {}};
  const stack_form form{gates, has_biases, layers, bidirectional, /*batch_first=*/false};
  if (sizes.empty() || !takes_cpus_way(form, data, sizes, state, weights)) {
    std::tie(output, hy) = turn_down(composed, data, batch_sizes, hidden, weights, has_biases,
                                     layers, dropout, train, bidirectional);
    return;
  }
  auto [outputs, last] = run_stack(form, next, data, sizes, state, weights, dropout, train);
  output = std::move(outputs), hy = std::move(last.h);
}

// The stubs of one of the three.
template <padded_layers* padded, packed_layers* packed, cudnn_cell cell, int64_t gates, step* next>
void set_stubs(auto& stub, auto& packed_stub) {
  stub.set_privateuse1_dispatch_ptr(&run_layers<padded, cell, gates, next>);
  packed_stub.set_privateuse1_dispatch_ptr(&run_packed<packed, cell, gates, next>);
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
  set_stubs<&rnn_tanh, &rnn_tanh, cudnn_cell::rnn_tanh, 1, &rnn_tanh_step>(
      rnn_tanh_cudnn_stub, rnn_tanh_packed_cudnn_stub);
  set_stubs<&rnn_relu, &rnn_relu, cudnn_cell::rnn_relu, 1, &rnn_relu_step>(
      rnn_relu_cudnn_stub, rnn_relu_packed_cudnn_stub);
}

}  // namespace outback::ops
