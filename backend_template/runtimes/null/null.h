// The C entry point of the null runtime, the smallest runtime that satisfies outback/runtime.h. A
// project that links this runtime needs only this header of the folder.
#pragma once

#include "outback/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns the table of the process's one null runtime. It is never null and stays valid until the
// process ends. May be called from any thread.
const outback_runtime* outback_null_runtime(void);

#ifdef __cplusplus
}  // extern "C"
#endif
