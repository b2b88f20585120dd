#include "backend_template/ops/autocast.h"

#include <ATen/ATen.h>
#include <ATen/Operators.h>
#include <ATen/autocast_mode.h>

#include <string>

#include "backend_template/core/device.h"
#include "backend_template/core/torch_version.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

using at::autocast::CastPolicy;
using at::autocast::WrapFunction;

constexpr c10::DispatchKey autocast_key = c10::DispatchKey::AutocastPrivateUse1;

// `Registered` is the operator's signature, `Called` that of `function`, which runs after the
// casts.
template <CastPolicy policy, class Registered, class Called, Called* function>
void add_rule(registrar& to, std::string name) {
  using rule = typename WrapFunction<policy, core::device_type, Registered, Called, function>::type;
  std::string overload;
  if (const size_t dot = name.find('.'); dot != std::string::npos) {
    overload = name.substr(dot + 1);
    name.resize(dot);
  }
  to.add<&rule::call>(name.c_str(), overload.c_str(), autocast_key);
}

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

}  // namespace

// torch's lists name an operator, or an operator and an overload; and two that run another
// signature.
#define OUTBACK_RULE_2(op, policy) \
  add_rule<CastPolicy::policy, decltype(ATEN_FN(op)), decltype(ATEN_FN(op)), &ATEN_FN(op)>(to, #op);
#define OUTBACK_RULE_3(op, overload, policy)                                                       \
  add_rule<CastPolicy::policy, decltype(ATEN_FN2(op, overload)), decltype(ATEN_FN2(op, overload)), \
           &ATEN_FN2(op, overload)>(to, #op "." #overload);
#define OUTBACK_PICK(_1, _2, _3, macro, ...) macro
#define OUTBACK_RULE(...) OUTBACK_PICK(__VA_ARGS__, OUTBACK_RULE_3, OUTBACK_RULE_2, )(__VA_ARGS__)

#define OUTBACK_LOWER_PRECISION(...) OUTBACK_RULE(__VA_ARGS__, lower_precision_fp)
#define OUTBACK_FP32(...) OUTBACK_RULE(__VA_ARGS__, fp32)
#define OUTBACK_FP32_SET_DTYPE(...) OUTBACK_RULE(__VA_ARGS__, fp32_set_opt_dtype)
#define OUTBACK_PROMOTE(...) OUTBACK_RULE(__VA_ARGS__, promote)
// NOLINTBEGIN(bugprone-macro-parentheses): types
#define OUTBACK_OTHER_SIGNATURE(function, name, registered, called, policy) \
  add_rule<CastPolicy::policy, registered, called, &function>(to, name);
// NOLINTEND(bugprone-macro-parentheses)

void register_autocast(registrar& to) {
  using namespace at;  // torch's signatures are written inside of it
  to.add_fallback(autocast_key, c10::KernelFunction::makeFallthrough());
  AT_FORALL_LOWER_PRECISION_FP(OUTBACK_LOWER_PRECISION)
  AT_FORALL_FP32(OUTBACK_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(OUTBACK_FP32_SET_DTYPE)
  AT_FORALL_PROMOTE(OUTBACK_PROMOTE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(OUTBACK_OTHER_SIGNATURE)
#if OUTBACK_TORCH_AT_LEAST(2, 14)
  OUTBACK_FP32(linalg_matrix_sqrth)  // torch has it for the CPU and CUDA, in no list
#endif
  to.add<&refuse_binary_cross_entropy>("binary_cross_entropy", "", autocast_key);
}

}  // namespace outback::ops
