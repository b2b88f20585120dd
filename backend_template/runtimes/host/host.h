// The C entry points of the host runtime. A project that links this runtime needs only this header
// of the folder. Tests and benchmarks that make their own instance include host_runtime.hpp.
#pragma once

#include "outback/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns the table of the process's one host runtime. The first call makes the runtime from the
// environment (host_options.hpp lists the variables). May be called from any thread. The table is
// never null and stays valid until the process ends.
//
// A malformed variable does not make this call fail. Instead every slot that returns a status fails
// with OUTBACK_INVALID_ARGUMENT, last_error names the variable, its value and the allowed values,
// and a registration of the table is refused with the same text.
const outback_runtime* outback_host_runtime(void);

// Sets the function that names the caller in the report of a fault.
//
// With OUTBACK_HOST_PROTECTED=1 device memory lies at addresses that fault when the CPU touches
// them. The runtime's signal handler then writes one line to stderr that contains what `describe`
// returns: the name of the operator that the calling thread runs, or null if it runs none.
//
// `describe` is called on the faulting thread, inside a handler for SIGSEGV: it must be
// async-signal-safe, and the text must stay valid until the handler has written it. Null removes
// the function that was set before. May be called from any thread.
//
// A backend's runtime is a library of its own, so the function is visible to the backend's kernels.
__attribute__((visibility("default"))) void outback_host_runtime_describe_caller(
    const char* (*describe)(void));

#ifdef __cplusplus
}  // extern "C"
#endif
