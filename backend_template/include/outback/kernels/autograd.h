// A custom operator's derivative, as a kernel for AutogradPrivateUse1.
//
// Only custom operators need one: PyTorch's own have theirs for every device.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/util/FunctionRef.h>
#include <c10/util/Type.h>
#include <c10/util/flat_hash_map.h>
#include <torch/library.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace torch::autograd {
struct AutogradContext;
}  // namespace torch::autograd

namespace outback::kernels {

/// torch::autograd::variable_list.
using variable_list = std::vector<at::Tensor>;

/// torch::autograd::AutogradContext by the same names, without its header, which takes the compiler
/// two seconds. Lives as long as the call that gets it.
class autograd_context {
 public:
  explicit autograd_context(torch::autograd::AutogradContext& context);
  autograd_context(const autograd_context&) = delete;
  autograd_context& operator=(const autograd_context&) = delete;

  /// What is no tensor, for `backward`.
  ska::flat_hash_map<std::string, at::IValue>& saved_data;

  /// Tensors, for `backward`: arguments and results. Once, in `setup_context`.
  void save_for_backward(variable_list to_save);
  /// What was saved, in `backward`. Throws c10::Error where one was written in between.
  variable_list get_saved_variables() const;
  /// Results that have no gradient. Once, in `setup_context`.
  void mark_non_differentiable(const variable_list& outputs);
  /// Whether `backward` gets zeros for a result without a gradient, as it does by default, or an
  /// undefined tensor.
  void set_materialize_grads(bool value);
  /// Whether anybody asks for the gradient of a tensor among the arguments, counted from 0 without
  /// the others.
  bool needs_input_grad(size_t tensor) const;

 private:
  torch::autograd::AutogradContext& context_;
};

namespace detail {

/// Either of the two, whichever a formula takes.
class context_argument {
 public:
  explicit context_argument(autograd_context& ours, torch::autograd::AutogradContext& torchs)
      : ours_(ours), torchs_(torchs) {}
  operator autograd_context*() const { return &ours_; }
  operator torch::autograd::AutogradContext*() const { return &torchs_; }

 private:
  autograd_context& ours_;
  torch::autograd::AutogradContext& torchs_;
};

/// A derivative without the types of its operator. Lives until the process ends.
struct formula {
  const char* name;
  variable_list (*backward)(context_argument context, const variable_list& grads);
};

/// The arguments of one call that a gradient is asked for: every tensor, and every tensor of a
/// list.
class autograd_inputs {
 public:
  void add(const at::Tensor& tensor) { add_slot(tensor); }
  void add(const std::optional<at::Tensor>& tensor) { add_slot(tensor ? *tensor : at::Tensor()); }
  void add(at::TensorList tensors) {
    for (const at::Tensor& tensor : tensors) add_slot(tensor);
  }
  template <class Argument>
  void add(const Argument& /*no tensor*/) {
    add_slot({});
  }

  const variable_list& tensors() const { return tensors_; }
  /// A number for each gradient that the formula returns: 1 where it is that of a tensor.
  const std::vector<int64_t>& slots() const { return slots_; }

 private:
  void add_slot(const at::Tensor& tensor);

  variable_list tensors_;
  std::vector<int64_t> slots_;
};

/// Runs `forward`, and makes what it returns the outputs of a torch::autograd::Function whose
/// derivative is `derivative`. Not a template, since such a Function takes the compiler five
/// seconds.
variable_list run_with_derivative(const formula& derivative, const autograd_inputs& inputs,
                                  c10::function_ref<variable_list(context_argument)> forward);

template <class Formula, auto* function,
          class Signature = std::remove_pointer_t<decltype(function)>>
struct autograd_kernel;

template <class Formula, auto* function, class Result, class... Arguments>
struct autograd_kernel<Formula, function, Result(Arguments...)> {
  static Result run(Arguments... arguments) {
    static const formula derivative = {c10::demangle_type<Formula>(),
                                       [](context_argument context, const variable_list& grads) {
                                         return variable_list(Formula::backward(context, grads));
                                       }};
    autograd_inputs inputs;
    (inputs.add(arguments), ...);
    return result_of(run_with_derivative(derivative, inputs, [&](context_argument context) {
      const Result result = below_autograd(arguments...);
      Formula::setup_context(context, arguments..., result);
      return outputs_of(result);
    }));
  }

 private:
  static Result below_autograd(const std::remove_reference_t<Arguments>&... arguments) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return function(arguments...);
  }

  static variable_list outputs_of(const Result& result) {
    if constexpr (std::is_same_v<Result, at::Tensor>) {
      return {result};
    } else if constexpr (std::is_same_v<Result, variable_list>) {
      return result;
    } else {
      return std::apply([](const auto&... parts) { return variable_list{parts...}; }, result);
    }
  }

  static Result result_of(variable_list outputs) {
    if constexpr (std::is_same_v<Result, at::Tensor>) {
      return std::move(outputs[0]);
    } else if constexpr (std::is_same_v<Result, variable_list>) {
      return outputs;
    } else {
      return [&]<size_t... part>(std::index_sequence<part...>) {
        return Result(std::move(outputs[part])...);
      }(std::make_index_sequence<std::tuple_size_v<Result>>());
    }
  }
};

}  // namespace detail

/// The kernel with the derivative of the operator that `function` calls, by the dispatcher:
///
///   at::Tensor scaled_silu(const at::Tensor& self, double scale);  // calls acme::scaled_silu
///   struct scaled_silu_formula {
///     static void setup_context(autograd_context* ctx, const at::Tensor& self, double scale,
///                               const at::Tensor& output);
///     static variable_list backward(autograd_context* ctx, const variable_list& grads);
///   };
///   TORCH_LIBRARY_IMPL(acme, AutogradPrivateUse1, m) {
///     m.impl("scaled_silu", outback::kernels::autograd<scaled_silu_formula, &scaled_silu>());
///   }
///
/// A formula may take torch::autograd::AutogradContext itself, after its header
/// (torch/csrc/autograd/custom_function.h).
///
/// The kernel of the device, of Meta or of whatever is below runs first. Then `setup_context`, the
/// one of torch.library.register_autograd, saves what the derivative needs: it gets the arguments
/// and the result, a tuple for an operator of several. `backward` gets a gradient for every output
/// and returns one for every argument, undefined tensors for those that are no tensors. Where it
/// calls differentiable operators only, it has derivatives itself. Both run with autograd on or off
/// as the caller has it, maybe on a thread of PyTorch's, and may throw.
///
/// Works under torch.func.grad, vjp and vmap, and traced by torch.compile. Not for operators that
/// write their arguments, and not for forward mode, which PyTorch does not offer here.
template <class Formula, auto* function>
auto autograd() {
  return TORCH_FN((detail::autograd_kernel<Formula, function>::run));
}

}  // namespace outback::kernels
