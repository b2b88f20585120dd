// A policy of torch.autocast as a boxed kernel, for operators of vendors and custom ones.
#include "outback/kernels/autocast.h"

#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <memory>
#include <utility>

#include "backend_template/kernels/autocast_cache.h"

namespace outback::kernels {
namespace {

// Replaces every tensor in an argument, whichever way it is passed, by what `change` returns for
// it. A list is replaced by a new one, since the caller may hold the old list too.
template <class Change>
void change_tensors(c10::IValue& value, Change change) {
  if (value.isTensor()) {
    value = change(std::move(value).toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> changed;
    for (const at::Tensor& tensor : value.toTensorVector()) changed.push_back(change(tensor));
    value = std::move(changed);
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> changed;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      changed.push_back(tensor ? std::optional(change(*tensor)) : std::nullopt);
    }
    value = std::move(changed);
  }
}

// What at::autocast::prioritize does, without its header (autocast_cache.h).
c10::ScalarType widest(c10::ScalarType dtype, const at::Tensor& tensor) {
  TORCH_CHECK(dtype != c10::kDouble,
              "autocast to the widest dtype: autocast is to Double, which leaves nothing wider to "
              "choose: expected a narrower dtype, see torch.set_autocast_dtype");
  if (!tensor.defined() || !tensor.is_privateuseone() || !tensor.is_floating_point()) return dtype;
  const c10::ScalarType next = tensor.scalar_type();
  if (next == c10::kDouble) return dtype;
  if (dtype == c10::kFloat || next == c10::kFloat) return c10::kFloat;
  TORCH_CHECK(next == dtype, "autocast to the widest dtype: a tensor of ", next,
              " where autocast is to ", dtype, ": expected one of that dtype or of Float");
  return dtype;
}

class autocast_kernel final : public c10::OperatorKernel {
 public:
  explicit autocast_kernel(cast_policy policy) : policy_(policy) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                  torch::jit::Stack* stack) {
    const c10::impl::ExcludeDispatchKeyGuard below_autocast(c10::DispatchKey::AutocastPrivateUse1);
    const auto arguments = torch::jit::last(*stack, op.schema().arguments().size());
    const c10::ScalarType dtype = dtype_for(arguments);
    const size_t first = stack->size() - arguments.size();
    for (size_t i = first; i < stack->size(); ++i) {
      change_tensors((*stack)[i], [&](const at::Tensor& tensor) {
        return at::autocast::cached_cast(dtype, tensor, c10::kPrivateUse1);
      });
    }
    op.callBoxed(stack);  // the whole dispatch again, without autocast
  }

 private:
  c10::ScalarType dtype_for(c10::ArrayRef<c10::IValue> arguments) const {
    if (policy_ == cast_policy::fp32) return c10::kFloat;
    c10::ScalarType dtype = at::autocast::get_autocast_dtype(c10::kPrivateUse1);
    if (policy_ == cast_policy::promote) {
      for (c10::IValue argument : arguments) {  // a copy: only looked at
        change_tensors(argument, [&](const at::Tensor& tensor) {
          dtype = widest(dtype, tensor);
          return tensor;
        });
      }
    }
    return dtype;
  }

  cast_policy policy_;
};

}  // namespace

torch::CppFunction autocast(cast_policy policy) {
  return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<autocast_kernel>(policy));
}

}  // namespace outback::kernels
