// Where a native kernel that declines a call finds the next provider's kernel. The operators know
// it (ops/next_provider.h).
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace outback::core {

/// Returns the kernel that serves the operator, for a call that a vendor's kernel has declined. It
/// lives until the process ends.
using next_kernel = const c10::KernelFunction* (*)(const c10::OperatorHandle&);

/// Sets the function. Registration calls it once, before the backend can be used.
void set_next_kernel(next_kernel find) noexcept;

/// Calls the function of `set_next_kernel`. Thread-safe.
const c10::KernelFunction* kernel_after_vendors(const c10::OperatorHandle& op);

}  // namespace outback::core
