// The boxed kernel that serves nearly every operator: it lends the device's tensors to the CPU or
// to the device's twin, runs that device's kernel and takes the results back (kernel_call.h).
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <c10/core/DispatchKey.h>

#include "backend_template/ops/excluded_operators.h"

namespace outback::ops {

class registrar;

/// Returns a kernel to register for one operator. It runs the twin's kernel of that operator for
/// `layout` (kernel_target::key). If the device has no twin, or the twin has no such kernel, it
/// runs the CPU's kernel. The first call reads the operator's schema and keeps the facts. Calls
/// from several threads are safe.
c10::KernelFunction boxed_kernel(c10::DispatchKey layout);

/// Registers a boxed kernel for each operator of ATen and each layout for which the CPU or a twin
/// has a kernel. If only a twin has one, then on devices without that twin torch composes the
/// operator of others, or the call throws what the fallback throws.
void register_boxed_kernels(registrar& to);

/// Returns the backend fallback: the kernel of every operator without a kernel for this device,
/// mainly of custom operators. A call throws c10::NotImplementedError (Python: NotImplementedError)
/// if neither the device's twin nor the CPU has a kernel for the operator, or if the operator is in
/// `excluded`, which must live until the process ends.
c10::KernelFunction boxed_fallback(const operator_names& excluded);

}  // namespace outback::ops
