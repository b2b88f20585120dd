#include "backend_template/ops/recording/operator_kind.h"

#include <ATen/core/enum_tag.h>
#include <c10/core/DispatchKey.h>

#include "backend_template/ops/in_place/twin_target.h"
#include "backend_template/ops/next_provider.h"
#include "backend_template/ops/operator_table.h"
#include "backend_template/ops/registrar.h"

namespace outback::ops {
namespace {

// True if torch composes the operator wherever no kernel serves it.
bool is_composed(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

// True if the kernel that the dispatcher calls for this device is one of Outback's, and not one
// that has torch compose the operator.
bool is_served_by_us(const c10::OperatorHandle& op) {
  if (!op.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) {
    // Such an operator goes to the boxed fallback, which runs its CPU kernel.
    return op.hasKernelForDispatchKey(c10::DispatchKey::CPU) && !is_composed(op);
  }
  return registrar::serves(op) && !is_for_twins_alone(op);
}

}  // namespace

operator_kind kind_of(const c10::OperatorHandle& op) {
  if (row_of(op.schema().name()).workless) return operator_kind::device;
  if (op.hasTag(at::Tag::data_dependent_output) || op.hasTag(at::Tag::dynamic_output_shape)) {
    return operator_kind::answers_host;
  }
  return is_served_by_us(op) ? operator_kind::host : operator_kind::device;
}

operator_kind kind_after_vendor(const c10::OperatorHandle& op) {
  if (row_of(op.schema().name()).workless) return operator_kind::device;
  const bool is_ours = kernel_after(declined_by::vendor, op).provider != core::served_by::composed;
  return is_ours && op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU) &&
                 !is_for_twins_alone(op)
             ? operator_kind::host
             : operator_kind::device;
}

bool hides_its_kernel(const c10::OperatorHandle& op) {
  const c10::OperatorName& name = op.operator_name();
  if (name.overload_name.empty() && row_of(name.name).warns_of_result) return true;
  if (!op.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) {
    // Those of other tensors: fake ones have Meta's kernels, and a capture may trace a function.
    return is_composed(op) && (op.hasKernelForDispatchKey(c10::DispatchKey::Meta) ||
                               op.hasKernelForDispatchKey(c10::DispatchKey::CPU));
  }
  if (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd)) return true;
  // For the other composite kernels a vendor's kernel counts. Outback's own may stay hidden:
  // composed, the operator allocates its result first and then calls the out= variant, which is
  // recorded without a copy.
  return (op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) ||
          op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional)) &&
         !is_served_by_us(op);
}

}  // namespace outback::ops
