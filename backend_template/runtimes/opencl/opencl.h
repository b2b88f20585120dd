// The C entry point of the OpenCL runtime. A project that links this runtime needs only this header
// of the folder, and no header of OpenCL.
#pragma once

#include "outback/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns the table of the process's one OpenCL runtime. It is never null and stays valid until the
// process ends. May be called from any thread.
//
// No library is loaded before a slot is called. Without loader, driver or device there are 0
// devices, every other slot that needs a device fails, and last_error says why. If an environment
// variable (options.hpp) is malformed, every slot fails with a text that names the variable, and so
// does a registration of the table.
const outback_runtime* outback_opencl_runtime(void);

#ifdef __cplusplus
}  // extern "C"
#endif
