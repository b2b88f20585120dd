// The runtime that CMake linked into a backend: outback_add_backend(<name> RUNTIME <runtime> ...)
// chooses it. Include this file where you register the backend, to pass the runtime's table.
#pragma once

#include "outback/runtime.h"

#ifndef OUTBACK_LINKED_RUNTIME
#error \
    "outback/linked_runtime.h is for targets of outback_add_backend(<name> RUNTIME <runtime> ...)"
#endif

// outback_add_backend() defines the macro as the name of the function that returns the table, such
// as outback_host_runtime, or <name>_runtime for RUNTIME_SOURCES.
extern "C" const outback_runtime* OUTBACK_LINKED_RUNTIME(void);

namespace outback {

/// Returns the table of the linked runtime, which is valid until the process ends. For the runtimes
/// that come with Outback this never returns null, makes no driver call and may be called from any
/// thread. For your own runtime (RUNTIME_SOURCES), your function decides.
inline const outback_runtime* linked_runtime() {
  return OUTBACK_LINKED_RUNTIME();
}

}  // namespace outback
