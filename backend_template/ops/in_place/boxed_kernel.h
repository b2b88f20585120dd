// One kernel for every operator: runs the operator's CPU kernel on what the device's tensors hold.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <c10/core/DispatchKey.h>

#include "backend_template/ops/excluded_operators.h"

namespace outback::ops {

/// The kernel for one operator, which runs its kernel for `target`. What it needs to know of the
/// schema is worked out at the first call.
c10::KernelFunction boxed_kernel(c10::DispatchKey target);

/// The kernel for operators that nobody registered for this device, custom ones above all. Throws
/// c10::NotImplementedError for an operator without a CPU kernel, and for those that are excluded,
/// which live as long as the process.
c10::KernelFunction boxed_fallback(const operator_names& excluded);

}  // namespace outback::ops
