#include "backend_template/ops/next_provider.h"

#include <ATen/core/stack.h>

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend_template/core/kernels/declined_calls.h"
#include "backend_template/ops/recording/declined.h"

namespace outback::ops {
namespace {

struct kept_kernel {
  c10::OperatorName op;
  c10::KernelFunction kernel;
  core::served_by provider;
};

// Leaked: operators run until the process ends.
struct all_kept {
  std::vector<kept_kernel> in_order;
  std::optional<c10::KernelFunction> fallback;
};
all_kept& all() {
  static all_kept& made = *new all_kept;
  return made;
}

struct kernels_of_one {
  const kept_kernel* first = nullptr;
  const kept_kernel* after_portable = nullptr;
};
using kernels_by_operator = std::unordered_map<c10::OperatorName, kernels_of_one>;

kernels_by_operator index_of_all() {
  kernels_by_operator made;
  for (const kept_kernel& each : all().in_order) {
    kernels_of_one& of = made[each.op];
    if (of.first == nullptr) of.first = &each;
    if (of.after_portable == nullptr && each.provider != core::served_by::portable) {
      of.after_portable = &each;
    }
  }
  return made;
}

// For a backend that has no kernel, as PrivateUse3 has none. The CPU's key would do where the
// operator has no kernel of the CPU's, but one that the backend excludes may have one.
constexpr c10::DispatchKey no_backends_key = c10::DispatchKey::PrivateUse3;

void compose(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
             torch::jit::Stack* stack) {
  op.redispatchBoxed(c10::DispatchKeySet(no_backends_key), stack);
}

// For the services. While the thread captures, operators that CPU kernels serve are recorded.
const c10::KernelFunction* kernel_after_vendors(const c10::OperatorHandle& op) {
  const next_kernel next = kernel_after(declined_by::vendor, op);
  core::note_provider(next.provider);
  return may_record_declined() ? &recorder_of_declined() : next.kernel;
}

}  // namespace

void keep_kernel(const c10::OperatorHandle& op, const c10::KernelFunction& kernel,
                 core::served_by provider) {
  all().in_order.push_back({op.operator_name(), kernel, provider});
}

next_kernel kernel_after(declined_by who, const c10::OperatorHandle& op) {
  static const kernels_by_operator& known = *new kernels_by_operator(index_of_all());
  static const auto& composing =
      *new c10::KernelFunction(c10::KernelFunction::makeFromBoxedFunction<&compose>());
  const auto found = known.find(op.operator_name());
  if (found != known.end()) {
    const kernels_of_one& of = found->second;
    const kept_kernel* const next = who == declined_by::vendor ? of.first : of.after_portable;
    if (next != nullptr) return {&next->kernel, next->provider};
  }
  if (op.hasComputedKernelForDispatchKey(no_backends_key)) {
    return {&composing, core::served_by::composed};
  }
  return {&*all().fallback, core::served_by::in_place};
}

void register_next_providers(c10::KernelFunction fallback) {
  all().fallback = std::move(fallback);
  core::set_next_kernel(&kernel_after_vendors);
}

}  // namespace outback::ops
