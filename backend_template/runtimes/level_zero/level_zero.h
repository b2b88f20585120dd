// The C entry point of the Level Zero runtime. A project that links this runtime needs only this
// header of the folder, and no header of Level Zero.
#pragma once

#include "outback/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns the table of the process's one Level Zero runtime. It is never null and stays valid until
// the process ends. May be called from any thread.
//
// No library is loaded before a slot is called. Without loader, driver or GPU there are 0 devices,
// every other slot that needs a device fails, and last_error says why. If an environment variable
// (options.hpp) is malformed, every slot fails with a text that names the variable, and so does a
// registration of the table.
const outback_runtime* outback_level_zero_runtime(void);

#ifdef __cplusplus
}  // extern "C"
#endif
