// Which operators run in another dtype under torch.autocast on this device. Read this to see where
// a rule of autocast comes from.
#include <ATen/ATen.h>
#include <ATen/Operators.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/torch_version.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

constexpr c10::DispatchKey autocast_key = c10::DispatchKey::AutocastPrivateUse1;

// torch's macros for a rule (KERNEL_PRIVATEUSEONE) write `m.impl(name, kernel)`, where torch itself
// has a torch::Library named m. This stands for it, and keeps the registrar's order of precedence.
class autocast_rules {
 public:
  explicit autocast_rules(registrar& to) : to_(to) {}

  // `operator_name` is "aten::add" or "aten::add.Tensor".
  template <class Signature>
  void impl(const char* operator_name, Signature* kernel) {
    add(operator_name, c10::KernelFunction::makeFromUnboxedRuntimeFunction(kernel),
        c10::impl::CppSignature::make<Signature>());
  }

 private:
  void add(const char* operator_name, c10::KernelFunction kernel,
           c10::impl::CppSignature signature) {
    const std::string name = std::string(operator_name).substr(std::string("aten::").size());
    const size_t dot = std::min(name.find('.'), name.size());
    const std::string overload = name.substr(std::min(dot + 1, name.size()));
    to_.add_kernel(name.substr(0, dot).c_str(), overload.c_str(), autocast_key, std::move(kernel),
                   signature);
  }

  registrar& to_;
};

// torch refuses this operator for CUDA too, in the same words: its gradient may not be
// representable in the reduced precision (torch's documentation of torch.amp).
at::Tensor refuse_binary_cross_entropy(const at::Tensor&, const at::Tensor&,
                                       const std::optional<at::Tensor>&, int64_t) {
  TORCH_CHECK(
      false,
      "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
      "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
      "In this case, combine the two layers using "
      "torch.nn.functional.binary_cross_entropy_with_logits\n"
      "or torch.nn.BCEWithLogitsLoss. binary_cross_entropy_with_logits and BCEWithLogits are\n"
      "safe to autocast.");
}

bool is_cast(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_floating_point() && tensor.scalar_type() != c10::kDouble;
}

// A layer of torch.nn in one operator. torch has no rule for these, since its modules call their
// parts under CUDA's autocast, as they do under this one (module/_outback/attention.py). A module
// that TorchScript has compiled still calls the operator. Its tensors become those of the lower
// precision, `low`; `finish` gives the result the dtype that it has where the parts run.
template <class Operator, auto finish, class Signature = typename Operator::schema>
struct layer_rule;

template <class Operator, auto finish, class Result, class... Arguments>
struct layer_rule<Operator, finish, Result(Arguments...)> {
  static Result run(Arguments... arguments) {
    using namespace at::autocast;
    const c10::impl::ExcludeDispatchKeyGuard without_autocast(autocast_key);
    const c10::ScalarType low = get_autocast_dtype(core::device_type);
    return finish(Operator::call(cached_cast(low, arguments, core::device_type)...), low,
                  std::forward_as_tuple(arguments...));
  }
};

// It ends with a layer norm, which is computed in float32. Where that comes first, it ends with the
// sum of the source and what a linear layer gave.
constexpr auto finish_encoder_layer = [](const at::Tensor& result, c10::ScalarType low,
                                         const auto& arguments) {
  const at::Tensor& source = std::get<0>(arguments);
  const bool norm_is_first = std::get<8>(arguments);
  if (!is_cast(source)) return result;
  return result.to(norm_is_first ? c10::promoteTypes(source.scalar_type(), low) : c10::kFloat);
};

// The weights of attention come from a softmax, which is computed in float32.
constexpr auto finish_attention = [](const std::tuple<at::Tensor, at::Tensor>& results,
                                     c10::ScalarType /*low*/, const auto& /*arguments*/) {
  const auto& [output, weights] = results;
  return std::tuple(output, is_cast(weights) ? weights.to(c10::kFloat) : weights);
};

template <class Operator, auto finish>
void add_layer_rule(registrar& to) {
  to.add<&layer_rule<Operator, finish>::run>(Operator::name + std::string_view("aten::").size(), "",
                                             autocast_key);
}

}  // namespace

#define OUTBACK_LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define OUTBACK_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define OUTBACK_FP32_SET_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define OUTBACK_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

void register_autocast(registrar& to) {
  using namespace at;  // the signatures in torch's lists are written inside this namespace
  to.add_fallback(autocast_key, c10::KernelFunction::makeFallthrough());
  autocast_rules m(to);
  AT_FORALL_LOWER_PRECISION_FP(OUTBACK_LOWER_PRECISION)
  AT_FORALL_FP32(OUTBACK_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(OUTBACK_FP32_SET_DTYPE)
  AT_FORALL_PROMOTE(OUTBACK_PROMOTE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
#if OUTBACK_TORCH_AT_LEAST(2, 14)
  OUTBACK_FP32(linalg_matrix_sqrth)  // torch casts it for the CPU and CUDA, outside of its lists
#endif
  OUTBACK_LOWER_PRECISION(_addmm_activation)  // of addmm, for which torch has a rule
  add_layer_rule<at::_ops::_native_multi_head_attention, finish_attention>(to);
  add_layer_rule<at::_ops::_transformer_encoder_layer_fwd, finish_encoder_layer>(to);
  to.add<&refuse_binary_cross_entropy>("binary_cross_entropy", "", autocast_key);
}

}  // namespace outback::ops
