// The host runtime, for whoever takes a table by the name of a C function.
#pragma once

#include "outback/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// The process's one instance, made from the environment by the first call (see host_options.hpp).
// Never null, and valid until the process ends. A malformed variable is no reason to fail here:
// then every slot that answers a status fails, and last_error says what is wrong with it.
const outback_runtime* outback_host_runtime(void);

// With OUTBACK_HOST_PROTECTED=1 device memory lies at addresses that fault, and a fault is reported
// with what `describe` answers: the name of the operator that the calling thread runs, or null. It
// is called in a signal handler.
void outback_host_runtime_describe_caller(const char* (*describe)(void));

#ifdef __cplusplus
}  // extern "C"
#endif
