// Gives a custom operator its derivative: `autograd` makes the kernel for AutogradPrivateUse1.
// PyTorch's own operators do not need it, since they have derivatives for every device.
//
// Start at `autograd`, at the end of this file, which has an example.
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

/// The same type as torch::autograd::variable_list.
using variable_list = std::vector<at::Tensor>;

/// Keeps a formula's values from the forward call for the backward call. The members have the names
/// of members of torch::autograd::AutogradContext and do the same. The class exists because the
/// header of AutogradContext takes the compiler two seconds. An object is valid only during the
/// call that gets it.
class autograd_context {
 public:
  /// Borrows `context`. Only Outback makes these objects.
  explicit autograd_context(torch::autograd::AutogradContext& context);
  autograd_context(const autograd_context&) = delete;
  autograd_context& operator=(const autograd_context&) = delete;

  /// Values for `backward` that are not tensors. Refers to the member of torch's context.
  ska::flat_hash_map<std::string, at::IValue>& saved_data;

  /// Saves tensors (arguments and results) for `backward`. Call it at most once, in
  /// `setup_context`.
  void save_for_backward(variable_list to_save);
  /// Returns the saved tensors. Call it in `backward`. Throws c10::Error if a tensor was modified
  /// in place after it was saved.
  variable_list get_saved_variables() const;
  /// Says which results have no gradient. Call it at most once, in `setup_context`.
  void mark_non_differentiable(const variable_list& outputs);
  /// Says what `backward` gets for a result without a gradient: a tensor of zeros if `value` is
  /// true, which is the default, otherwise an undefined tensor.
  void set_materialize_grads(bool value);
  /// Returns whether a gradient is needed. `tensor` is the index, from 0, among the defined tensors
  /// of the arguments. Each tensor in a list counts. Arguments that are not tensors do not count.
  bool needs_input_grad(size_t tensor) const;

 private:
  torch::autograd::AutogradContext& context_;
};

namespace detail {

/// Converts to a pointer to either context, whichever one the formula's functions take.
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

/// A derivative without the types of its operator. It lives until the process ends, because
/// autograd graphs keep its address.
struct formula {
  const char* name;  // the formula's C++ type, for error messages and profiles
  variable_list (*backward)(context_argument context, const variable_list& grads);
};

/// The arguments of one call that may get a gradient: every tensor, and every tensor in a list.
/// Each argument takes a place among the gradients that `backward` must return; a list takes a
/// place for each of its tensors.
class autograd_inputs {
 public:
  void add(const at::Tensor& tensor) { add_place(tensor); }
  void add(const std::optional<at::Tensor>& tensor) { add_place(tensor ? *tensor : at::Tensor()); }
  void add(at::TensorList tensors) {
    for (const at::Tensor& tensor : tensors) add_place(tensor);
  }
  /// An argument that is not a tensor still takes a place among the gradients.
  template <class Argument>
  void add(const Argument& /*no tensor*/) {
    add_place({});
  }

  /// The defined tensors, in the order of the arguments.
  const variable_list& tensors() const { return tensors_; }
  /// For each gradient that the formula returns, 1 if it belongs to a defined tensor and 0 if not.
  const std::vector<int64_t>& places() const { return places_; }

 private:
  void add_place(const at::Tensor& tensor);

  variable_list tensors_;
  std::vector<int64_t> places_;
};

/// Runs `forward` and returns its results as the outputs of a torch::autograd::Function whose
/// derivative is `derivative`. Autograd records nothing if grad mode is off or no input requires a
/// gradient. It is not a template, because such a Function takes the compiler five seconds.
/// `forward` is borrowed for the call.
variable_list run_with_derivative(const formula& derivative, const autograd_inputs& inputs,
                                  c10::function_ref<variable_list(context_argument)> forward);

/// The kernel itself, `run`, with the signature of `function`.
template <class Formula, auto* function,
          class Signature = std::remove_pointer_t<decltype(function)>>
struct autograd_kernel;

template <class Formula, auto* function, class Result, class... Arguments>
struct autograd_kernel<Formula, function, Result(Arguments...)> {
  /// The kernel that is registered. A call records one node in the autograd graph, if a gradient
  /// may be needed.
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
  // Calls the operator again with autograd's dispatch keys excluded, so that the device's kernel
  // runs.
  static Result below_autograd(const std::remove_reference_t<Arguments>&... arguments) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return function(arguments...);
  }

  // A result is a tensor, a list of tensors or a tuple of tensors; a Function's results are a list.
  static variable_list outputs_of(const Result& result) {
    if constexpr (std::is_same_v<Result, at::Tensor>) {
      return {result};
    } else if constexpr (std::is_same_v<Result, variable_list>) {
      return result;
    } else {
      return std::apply([](const auto&... parts) { return variable_list{parts...}; }, result);
    }
  }

  // Undoes `outputs_of`, with the tensors that autograd has connected to the graph.
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

/// Returns the autograd kernel of an operator. `function` must call the operator through the
/// dispatcher, and `Formula` is its derivative:
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
/// A formula may also take torch::autograd::AutogradContext itself, if it includes that class's
/// header (torch/csrc/autograd/custom_function.h).
///
/// A call first runs the kernel below autograd: the device's kernel, the Meta kernel, or whichever
/// kernel is next. Then `setup_context` saves the values that the derivative needs, as in
/// torch.library.register_autograd: `setup_context` gets the arguments and the result, which is a
/// tuple if the operator has several results. `backward` gets a gradient for every result and
/// returns a gradient for every argument, and for every tensor in a list. For an argument that is
/// not a tensor it returns an undefined tensor. It may leave out undefined tensors at the end. If
/// it returns another number of gradients, the backward pass throws c10::Error.
///
/// If `backward` calls differentiable operators only, it is differentiable itself. Both functions
/// run in the caller's grad mode, perhaps on a thread of PyTorch's autograd engine, and may throw.
///
/// The kernel works under torch.func.grad, vjp and vmap and under torch.compile. It does not work
/// for operators that write to their arguments, nor in forward-mode autograd, which PyTorch does
/// not offer for such functions.
template <class Formula, auto* function>
auto autograd() {
  return TORCH_FN((detail::autograd_kernel<Formula, function>::run));
}

}  // namespace outback::kernels
