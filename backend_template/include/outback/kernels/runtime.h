// The runtime, for a kernel that calls it.
#pragma once

#include "outback/runtime.h"

namespace outback::kernels {

/// The registered backend's table, with the layers over it that the environment asks for: so a
/// device's number here is torch's, and a call is checked and traced as all others are. Its slots
/// are called from any thread. Throws c10::Error before `register_backend`, and where the backend
/// was made with an Outback whose interface for kernels is another than the kernel's.
const outback_runtime& runtime();

/// Throws what `status` stands for unless it is OUTBACK_OK, with the name of the slot that answered
/// it and the driver's words: torch.OutOfMemoryError, NotImplementedError, RuntimeError or
/// torch.AcceleratorError in Python. On the thread that called the slot.
void check(outback_status status, const char* slot);

}  // namespace outback::kernels
