// The Level Zero runtime, for whoever takes a table by the name of a C function.
#pragma once

#include "outback/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// The process's one instance. Never null, and valid until the process ends. Nothing is loaded
// before a slot is called; where there is no loader, no driver or no GPU, there are 0 devices, and
// the other slots say why.
const outback_runtime* outback_level_zero_runtime(void);

#ifdef __cplusplus
}  // extern "C"
#endif
