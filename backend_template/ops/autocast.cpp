// Which operators run in another dtype under torch.autocast on this device. Read this to see where
// a rule of autocast comes from.
#include <ATen/ATen.h>
#include <ATen/Operators.h>
#include <ATen/autocast_mode.h>

#include <memory>
#include <string>
#include <tuple>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/runtime/torch_version.h"
#include "backend_template/ops/registrar.h"
#include "backend_template/ops/registrations.h"

namespace outback::ops {
namespace {

namespace autocast = at::autocast;

constexpr c10::DispatchKey autocast_key = c10::DispatchKey::AutocastPrivateUse1;

// torch's policies (at::autocast::CastPolicy) as kernels that get the operator when they are made.
// torch's own at::autocast::WrapFunction is a type for each operator. These are a type for each
// signature, of which there are half as many, so the compiler has less to do.

enum class cast_to : uint8_t { lower_precision_fp, fp32, widest };

template <class Signature>
class cast_kernel;
template <class Result, class... Arguments>
class cast_kernel<Result(Arguments...)> final : public c10::OperatorKernel {
 public:
  cast_kernel(Result (*op)(Arguments...), cast_to to) : op_(op), to_(to) {}

  Result operator()(Arguments... arguments) {
    const c10::impl::ExcludeDispatchKeyGuard below_autocast(autocast_key);
    c10::ScalarType dtype = at::kFloat;
    if (to_ != cast_to::fp32) dtype = autocast::get_autocast_dtype(core::device_type);
    if (to_ == cast_to::widest) {
      ((dtype = autocast::prioritize(dtype, arguments, core::device_type)), ...);
    }
    return op_(autocast::cached_cast(dtype, arguments, core::device_type)...);
  }

 private:
  Result (*const op_)(Arguments...);
  const cast_to to_;
};

// Asks for a result in float32 if the caller names no dtype (CastPolicy::fp32_set_opt_dtype).
template <class Signature>
class dtype_kernel;
template <class Result, class... Arguments>
class dtype_kernel<Result(Arguments...)> final : public c10::OperatorKernel {
 public:
  explicit dtype_kernel(Result (*op)(Arguments...)) : op_(op) {}

  Result operator()(Arguments... arguments) {
    const c10::impl::ExcludeDispatchKeyGuard below_autocast(autocast_key);
    const auto& first = std::get<0>(std::tie(arguments...));
    if (!autocast::is_eligible(first, core::device_type)) return op_(arguments...);
    return op_(autocast::set_opt_dtype(at::kFloat, arguments)...);
  }

 private:
  Result (*const op_)(Arguments...);
};

template <template <class> class Kernel, class Signature, class... Rest>
void add_rule(registrar& to, const char* name, const char* overload, Signature* op, Rest... rest) {
  to.add_kernel<Signature>(name, overload, autocast_key,
                           c10::KernelFunction::makeFromUnboxedFunctor<false, Kernel<Signature>>(
                               std::make_unique<Kernel<Signature>>(op, rest...)));
}

// CastPolicy::fp32_append_dtype calls another overload, with a dtype as one more argument. `name`
// holds the overload too, as torch's list AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE has it.
template <class Registered, class Called, Called* function>
void add_rule_with_dtype(registrar& to, const std::string& name) {
  using rule = typename autocast::WrapFunction<autocast::CastPolicy::fp32_append_dtype,
                                               core::device_type, Registered, Called, function>;
  const size_t dot = name.find('.');
  to.add<&rule::type::call>(name.substr(0, dot).c_str(), name.substr(dot + 1).c_str(),
                            autocast_key);
}

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

}  // namespace

// An entry of torch's lists is an operator, or an operator and its overload: the two forms of
// OUTBACK_OP turn either one into a name, an overload and a function pointer.
#define OUTBACK_OP_1(op) #op, "", &ATEN_FN(op)
#define OUTBACK_OP_2(op, overload) #op, #overload, &ATEN_FN2(op, overload)
#define OUTBACK_PICK(_1, _2, macro, ...) macro
#define OUTBACK_OP(...) OUTBACK_PICK(__VA_ARGS__, OUTBACK_OP_2, OUTBACK_OP_1, )(__VA_ARGS__)

#define OUTBACK_LOWER_PRECISION(...) \
  add_rule<cast_kernel>(to, OUTBACK_OP(__VA_ARGS__), cast_to::lower_precision_fp);
#define OUTBACK_FP32(...) add_rule<cast_kernel>(to, OUTBACK_OP(__VA_ARGS__), cast_to::fp32);
#define OUTBACK_FP32_SET_DTYPE(...) add_rule<dtype_kernel>(to, OUTBACK_OP(__VA_ARGS__));
#define OUTBACK_PROMOTE(...) add_rule<cast_kernel>(to, OUTBACK_OP(__VA_ARGS__), cast_to::widest);
// NOLINTBEGIN(bugprone-macro-parentheses): types
#define OUTBACK_APPEND_DTYPE(function, name, registered, called, policy)                  \
  static_assert(autocast::CastPolicy::policy == autocast::CastPolicy::fp32_append_dtype); \
  add_rule_with_dtype<registered, called, &function>(to, name);
// NOLINTEND(bugprone-macro-parentheses)

void register_autocast(registrar& to) {
  using namespace at;  // the signatures in torch's lists are written inside this namespace
  to.add_fallback(autocast_key, c10::KernelFunction::makeFallthrough());
  AT_FORALL_LOWER_PRECISION_FP(OUTBACK_LOWER_PRECISION)
  AT_FORALL_FP32(OUTBACK_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(OUTBACK_FP32_SET_DTYPE)
  AT_FORALL_PROMOTE(OUTBACK_PROMOTE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(OUTBACK_APPEND_DTYPE)
#if OUTBACK_TORCH_AT_LEAST(2, 14)
  OUTBACK_FP32(linalg_matrix_sqrth)  // torch casts it for the CPU and CUDA, outside of its lists
#endif
  to.add<&refuse_binary_cross_entropy>("binary_cross_entropy", "", autocast_key);
}

}  // namespace outback::ops
