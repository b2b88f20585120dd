// The boxed kernel that serves nearly every operator: it lends the device's tensors to the CPU or
// to the device's twin, runs the operator's kernel there and takes the results back
// (kernel_call.h).
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <c10/core/DispatchKey.h>

#include "backend_template/ops/excluded_operators.h"

namespace outback::ops {

class registrar;

/// Returns a kernel to register for one operator, which runs that operator's kernel for `layout`
/// (kernel_target::key): the twin's on a device with a twin, if it has one, and else the CPU's. It
/// works out what it needs to know of the schema at its first call and keeps that; calls from
/// several threads are safe.
c10::KernelFunction boxed_kernel(c10::DispatchKey layout);

/// Registers such a kernel for each operator of ATen and each layout that the CPU or a twin has a
/// kernel for. What only a twin has one for, torch composes of other operators on the other
/// devices, or it is refused there as by the fallback.
void register_boxed_kernels(registrar& to);

/// Returns the backend fallback: the kernel of every operator that has none for this device, above
/// all of custom ones. When it is called, it throws c10::NotImplementedError (Python:
/// NotImplementedError) for an operator without a kernel of the device's twin or of the CPU, and
/// for one in `excluded`, which must live until the process ends.
c10::KernelFunction boxed_fallback(const operator_names& excluded);

}  // namespace outback::ops
