// The runtime of Outback's that CMake linked: outback_add_backend(<name> RUNTIME <runtime> ...).
#pragma once

#include "outback/runtime.h"

#ifndef OUTBACK_LINKED_RUNTIME
#error \
    "outback/linked_runtime.h is for targets of outback_add_backend(<name> RUNTIME <runtime> ...)"
#endif

extern "C" const outback_runtime* OUTBACK_LINKED_RUNTIME(void);

namespace outback {

/// Never null, and valid until the process ends. Makes no driver call.
inline const outback_runtime* linked_runtime() {
  return OUTBACK_LINKED_RUNTIME();
}

}  // namespace outback
