// Finds the kernel that comes after a kernel that has declined a call: a vendor's, by
// outback/kernels/decline.h, or a portable one.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>

namespace outback::ops {

/// Who has declined the call.
enum class declined_by : uint8_t { vendor, portable };

/// Keeps a kernel of Outback's for the device's dense tensors, whether or not it is registered. The
/// kernels of an operator are kept in the order in which they serve it. Not thread-safe: only
/// during registration.
void keep_kernel(const c10::OperatorHandle& op, const c10::KernelFunction& kernel,
                 bool is_portable);

/// Returns the kernel that serves `op` after `who`. Returns null if torch composes the operator of
/// others. For operators for which nobody has a kernel it returns the backend fallback, which
/// throws. The kernel lives until the process ends. Thread-safe; the first call takes a
/// millisecond, later ones look up a name.
const c10::KernelFunction* kernel_after(declined_by who, const c10::OperatorHandle& op);

/// Lets core's services for native kernels ask `kernel_after`. `fallback` is the backend fallback.
/// Call it once, during registration.
void register_next_providers(c10::KernelFunction fallback);

}  // namespace outback::ops
