// The boxed kernel that serves nearly every operator: it lends the device's tensors to the target,
// runs the operator's kernel there and takes the results back (kernel_call.h).
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <c10/core/DispatchKey.h>

#include "backend_template/ops/excluded_operators.h"
#include "backend_template/ops/in_place/cpu_target.h"

namespace outback::ops {

class registrar;

/// Returns a kernel to register for one operator, which runs that operator's kernel of `target` for
/// `layout` (kernel_target::key). It works out what it needs to know of the schema at its first
/// call and keeps that; calls from several threads are safe. `target` must live until the process
/// ends.
c10::KernelFunction boxed_kernel(c10::DispatchKey layout, const kernel_target& target = cpu_target);

/// Registers such a kernel for each operator of ATen and each layout that `target` has a kernel
/// for.
void register_kernels_of(const kernel_target& target, registrar& to);

/// Returns the backend fallback: the kernel of every operator that has none for this device, above
/// all of custom ones. When it is called, it throws c10::NotImplementedError (Python:
/// NotImplementedError) for an operator without a kernel of `target` and for one in `excluded`.
/// Both must live until the process ends.
c10::KernelFunction boxed_fallback(const operator_names& excluded,
                                   const kernel_target& target = cpu_target);

}  // namespace outback::ops
