// The backend that this process has, as native kernels know it.
#pragma once

#include "backend_template/core/kernel_services.h"

namespace outback::kernels {

/// Found on the first call, which throws c10::Error where no backend is registered, or one of
/// another Outback's.
const core::kernel_services& services();

}  // namespace outback::kernels
