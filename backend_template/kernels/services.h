// Connects a library of native kernels to the backend of this process. A library that is loaded
// later has no copy of the backend's state; it finds the backend's core through ATen. Internal to
// kernels/: a vendor's kernels use outback/kernels/*.h.
#pragma once

#include "backend_template/core/kernel_services.h"

namespace outback::kernels {

/// Returns the backend's services, which live until the process ends. The first call looks for them
/// and throws c10::Error if no backend is registered, or if the backend was compiled with another
/// version of kernel_services. Later calls cost a load. Thread-safe.
const core::kernel_services& services();

}  // namespace outback::kernels
