// Records calls that a vendor's kernel has declined while the thread captures. The recorder lets a
// vendor's kernel run, since it is the device's work; what comes after it may be a CPU kernel.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/macros/Macros.h>

#include "backend_template/core/graphs/recording.h"

namespace outback::ops {

/// Returns true if the calling thread's operators go to the recorder. Costs one load.
inline bool may_record_declined() {
  return C10_UNLIKELY(c10::impl::tls_is_dispatch_key_included(core::recorder_key));
}

/// Returns a kernel for every operator: it records the call if a CPU kernel serves the operator in
/// the capture that is open, and else runs the kernel that comes after the vendor's. Lives until
/// the process ends.
const c10::KernelFunction& recorder_of_declined();

}  // namespace outback::ops
