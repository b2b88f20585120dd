// The boxed kernel that serves nearly every operator: it lends the device's tensors to the CPU,
// runs the operator's CPU kernel and takes the results back (cpu_call.h), in place or over copies.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <c10/core/DispatchKey.h>

#include "backend_template/ops/excluded_operators.h"

namespace outback::ops {

/// Returns a kernel to register for one operator, which runs that operator's kernel for `target`
/// (CPU, SparseCPU, ...). It works out what it needs to know of the schema at its first call and
/// keeps that; calls from several threads are safe.
c10::KernelFunction boxed_kernel(c10::DispatchKey target);

/// Returns the backend fallback: the kernel of every operator that has none for this device, above
/// all of custom ones. When it is called, it throws c10::NotImplementedError (Python:
/// NotImplementedError) for an operator without a CPU kernel and for one in `excluded`, which must
/// live until the process ends.
c10::KernelFunction boxed_fallback(const operator_names& excluded);

}  // namespace outback::ops
