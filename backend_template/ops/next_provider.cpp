#include "backend_template/ops/next_provider.h"

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend_template/core/kernels/declined_calls.h"

namespace outback::ops {
namespace {

struct kept_kernel {
  c10::OperatorHandle op;
  c10::KernelFunction kernel;
  bool is_portable;
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
  const c10::KernelFunction* first = nullptr;
  const c10::KernelFunction* after_portable = nullptr;
};
using kernels_by_operator = std::unordered_map<c10::OperatorName, kernels_of_one>;

kernels_by_operator index_of_all() {
  kernels_by_operator made;
  for (const kept_kernel& each : all().in_order) {
    kernels_of_one& of = made[each.op.operator_name()];
    if (of.first == nullptr) of.first = &each.kernel;
    if (of.after_portable == nullptr && !each.is_portable) of.after_portable = &each.kernel;
  }
  return made;
}

bool is_composed(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
}

}  // namespace

void keep_kernel(const c10::OperatorHandle& op, const c10::KernelFunction& kernel,
                 bool is_portable) {
  all().in_order.push_back({op, kernel, is_portable});
}

const c10::KernelFunction* kernel_after(declined_by who, const c10::OperatorHandle& op) {
  static const kernels_by_operator& known = *new kernels_by_operator(index_of_all());
  const auto found = known.find(op.operator_name());
  const kernels_of_one of = found == known.end() ? kernels_of_one{} : found->second;
  const c10::KernelFunction* const next = who == declined_by::vendor ? of.first : of.after_portable;
  if (next != nullptr) return next;
  return is_composed(op) ? nullptr : &*all().fallback;
}

void register_next_providers(c10::KernelFunction fallback) {
  all().fallback = std::move(fallback);
  core::set_next_kernel(
      [](const c10::OperatorHandle& op) { return kernel_after(declined_by::vendor, op); });
}

}  // namespace outback::ops
