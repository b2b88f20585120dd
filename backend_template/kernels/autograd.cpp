// The derivative of a custom operator, run as a torch::autograd::Function. The one class of such a
// Function is here and not in the header, since each takes the compiler five seconds.
#include "outback/kernels/autograd.h"

#include <ATen/FuncTorchTLS.h>
#include <ATen/core/List.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <utility>
#include <vector>

namespace outback::kernels {

autograd_context::autograd_context(torch::autograd::AutogradContext& context)
    : saved_data(context.saved_data), context_(context) {}

void autograd_context::save_for_backward(variable_list to_save) {
  context_.save_for_backward(std::move(to_save));
}

variable_list autograd_context::get_saved_variables() const {
  return context_.get_saved_variables();
}

void autograd_context::mark_non_differentiable(const variable_list& outputs) {
  context_.mark_non_differentiable(outputs);
}

void autograd_context::set_materialize_grads(bool value) {
  context_.set_materialize_grads(value);
}

bool autograd_context::needs_input_grad(size_t tensor) const {
  return context_.needs_input_grad(tensor);
}

namespace detail {
namespace {

using torch::autograd::AutogradContext;

// PyTorch refuses a torch::autograd::Function under torch.func's transforms: one that is called
// outside the dispatcher would run for all levels of transforms at once. This one is a kernel,
// which the dispatcher calls once for each level, as it calls PyTorch's own derivatives. So the
// check does not apply, and this object hides the transforms' state from it: from its construction
// until `node::forward` begins.
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

struct call {
  const formula& derivative;
  const autograd_inputs& inputs;
  c10::function_ref<variable_list(context_argument)> forward;
  const bool recorded;  // autograd records the call, so there will be a backward pass
  functorch_aside aside;
};

// The key under which `forward` saves for `backward`: the formula's address, then for each argument
// whether it was a tensor. As a list of integers, which PyTorch's compiled autograd keeps as it is.
constexpr const char* saved_call = "outback::kernels::autograd";

struct node : torch::autograd::Function<node> {
  static variable_list forward(AutogradContext* context, call* now, at::TensorList /*inputs*/) {
    now->aside.put_back();
    autograd_context ours(*context);
    variable_list outputs = now->forward(context_argument(ours, *context));
    if (!now->recorded) return outputs;
    c10::List<int64_t> saved({reinterpret_cast<int64_t>(&now->derivative)});
    for (const int64_t place : now->inputs.places()) saved.push_back(place);
    context->saved_data[saved_call] = std::move(saved);
    return outputs;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const c10::List<int64_t> saved = context->saved_data.at(saved_call).toIntList();
    const auto& derivative = *reinterpret_cast<const formula*>(saved.get(0));
    // All nodes of this class have one name; this tells a profile which derivative runs.
    RECORD_FUNCTION(derivative.name, std::vector<c10::IValue>());
    autograd_context ours(*context);
    variable_list all = derivative.backward(context_argument(ours, *context), grads);
    const size_t expected = saved.size() - 1;
    // As PyTorch does with the gradients of a torch.autograd.Function.
    while (all.size() > expected && !all.back().defined()) all.pop_back();
    TORCH_CHECK(all.size() == expected, "the derivative ", derivative.name, " returned ",
                all.size(), " gradients: expected ", expected,
                ", one for each argument, undefined for one that is no tensor");
    variable_list result = {at::Tensor()};  // none for the first argument of `forward`, a pointer
    for (size_t i = 0; i < expected; ++i) {
      if (saved.get(i + 1) != 0) {
        result.push_back(std::move(all[i]));
      } else {
        TORCH_CHECK(!all[i].defined(), "the derivative ", derivative.name,
                    " returned a gradient, number ", i,
                    " from 0, of what was no tensor in this call: expected an undefined one");
      }
    }
    return result;
  }
};

}  // namespace

void autograd_inputs::add_place(const at::Tensor& tensor) {
  places_.push_back(tensor.defined() ? 1 : 0);
  if (tensor.defined()) tensors_.push_back(tensor);
}

variable_list run_with_derivative(const formula& derivative, const autograd_inputs& inputs,
                                  c10::function_ref<variable_list(context_argument)> forward) {
  const bool recorded =
      at::GradMode::is_enabled() && torch::autograd::any_variable_requires_grad(inputs.tensors());
  call now = {derivative, inputs, forward, recorded, {}};
  return node::apply(&now, at::TensorList(inputs.tensors()));
}

}  // namespace detail
}  // namespace outback::kernels
