// One kernel for every operator: runs the operator's CPU kernel on what the device's tensors hold.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <c10/core/DispatchKey.h>

#include <optional>
#include <string>

namespace outback::ops {

/// The kernel for one operator, which runs its kernel for `target`. What it needs to know of the
/// schema is worked out at the first call.
c10::KernelFunction boxed_kernel(c10::DispatchKey target);

/// The same, but runs another operator of the same signature: what CPU tensors would have run in
/// its place.
c10::KernelFunction boxed_kernel_of(const char* name, const char* overload);

/// The kernel for operators that nobody registered for this device, custom ones above all. Throws
/// c10::NotImplementedError for an operator without a CPU kernel.
c10::KernelFunction boxed_fallback();

}  // namespace outback::ops
