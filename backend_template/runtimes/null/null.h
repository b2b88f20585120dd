// The null runtime, for whoever takes a table by the name of a C function.
#pragma once

#include "outback/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// The process's one instance. Never null, and valid until the process ends.
const outback_runtime* outback_null_runtime(void);

#ifdef __cplusplus
}  // extern "C"
#endif
