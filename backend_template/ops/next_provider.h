// Finds the kernel that comes after a kernel that has declined a call: a vendor's, by
// outback/kernels/decline.h, or a portable one.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>

#include "backend_template/core/operators/call_notes.h"

namespace outback::ops {

/// Who has declined the call.
enum class declined_by : uint8_t { vendor, portable };

struct next_kernel {
  /// Serves the operator on the device's dense tensors, and lives until the process ends.
  const c10::KernelFunction* kernel;
  /// Whose it is, for the operator report. `in_place` for every kernel of another device type: it
  /// notes by itself if it runs over copies.
  core::served_by provider;
};

/// Keeps a kernel of Outback's for the device's dense tensors, whether or not it is registered. The
/// kernels of an operator are kept in the order in which they serve it. Not thread-safe: only
/// during registration.
void keep_kernel(const c10::OperatorHandle& op, const c10::KernelFunction& kernel,
                 core::served_by provider);

/// Returns the kernel that serves `op` after `who`. If Outback has none, and torch composes the
/// operator of others, the kernel does that. Without either it is the backend fallback, which runs
/// the CPU's kernel or a twin's, if there is one, and else throws. Thread-safe; the first call
/// takes a millisecond, later ones look up a name.
next_kernel kernel_after(declined_by who, const c10::OperatorHandle& op);

/// Lets core's services for native kernels ask for the kernel after a vendor's. `fallback` is the
/// backend fallback. Call it once, during registration.
void register_next_providers(c10::KernelFunction fallback);

}  // namespace outback::ops
