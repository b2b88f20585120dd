// A custom operator's derivative, as a kernel for AutogradPrivateUse1.
//
// Only custom operators need one: PyTorch's own have theirs for every device.
#pragma once

#include <ATen/FuncTorchTLS.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace outback::kernels {
namespace detail {

/// PyTorch refuses a torch::autograd::Function inside of torch.func's transforms, since one that
/// is called outside of the dispatcher would run for all of their levels at once. This one is a
/// kernel, which the dispatcher calls once a level as it does with PyTorch's own derivatives. So
/// the state of the transforms is put aside until the check is over.
class functorch_aside {
 public:
  functorch_aside() : state_(std::move(at::functorch::functorchTLSAccessor())) {}
  ~functorch_aside() { put_back(); }
  functorch_aside(const functorch_aside&) = delete;
  functorch_aside& operator=(const functorch_aside&) = delete;

  void put_back() {
    if (state_) at::functorch::functorchTLSAccessor() = std::move(state_);
  }

 private:
  std::unique_ptr<at::functorch::FuncTorchTLSBase> state_;
};

template <class Formula, auto* function,
          class Signature = std::remove_pointer_t<decltype(function)>>
struct autograd_kernel;

template <class Formula, auto* function, class Result, class... Arguments>
struct autograd_kernel<Formula, function, Result(Arguments...)> {
  static constexpr bool is_single = std::is_same_v<Result, at::Tensor>;
  using outputs = std::conditional_t<is_single, at::Tensor, torch::autograd::variable_list>;

  struct node : torch::autograd::Function<node> {
    static outputs forward(torch::autograd::AutogradContext* context, functorch_aside* aside,
                           Arguments... arguments) {
      aside->put_back();
      const Result result = below_autograd(arguments...);
      Formula::setup_context(context, arguments..., result);
      if constexpr (is_single || std::is_same_v<Result, outputs>) {
        return result;
      } else {
        return std::apply([](const auto&... parts) { return outputs{parts...}; }, result);
      }
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& grads) {
      torch::autograd::variable_list result = Formula::backward(context, grads);
      result.insert(result.begin(), at::Tensor());  // of `aside`
      return result;
    }
  };

  static Result below_autograd(const std::remove_reference_t<Arguments>&... arguments) {
    const at::AutoDispatchBelowADInplaceOrView guard;
    return function(arguments...);
  }

  static Result run(Arguments... arguments) {
    functorch_aside aside;
    outputs result = node::apply(&aside, arguments...);
    if constexpr (is_single || std::is_same_v<Result, outputs>) {
      return result;
    } else {
      return [&]<size_t... part>(std::index_sequence<part...>) {
        return Result(std::move(result[part])...);
      }(std::make_index_sequence<std::tuple_size_v<Result>>());
    }
  }
};

}  // namespace detail

/// The kernel with the derivative of the operator that `function` calls, by the dispatcher:
///
///   at::Tensor scaled_silu(const at::Tensor& self, double scale);  // calls acme::scaled_silu
///   struct scaled_silu_formula {
///     static void setup_context(AutogradContext* ctx, const at::Tensor& self, double scale,
///                               const at::Tensor& output);
///     static variable_list backward(AutogradContext* ctx, const variable_list& grads);
///   };
///   TORCH_LIBRARY_IMPL(acme, AutogradPrivateUse1, m) {
///     m.impl("scaled_silu", outback::kernels::autograd<scaled_silu_formula, &scaled_silu>());
///   }
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
