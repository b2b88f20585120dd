// The C entry point of the CUDA runtime. A project that links this runtime needs only this header
// of the folder, and no header of CUDA.
#pragma once

#include "outback/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns the table of the process's one CUDA runtime. It is never null and stays valid until the
// process ends. May be called from any thread.
//
// This call does not start CUDA, and neither does device_count if NVML can count the devices, so
// both are safe before a fork. Without libcudart, driver or device, or if CUDA does not start,
// device_count returns 0, every other slot that needs a device fails, and last_error says why.
// library.hpp lists the places where the runtime looks for libcudart. If OUTBACK_CUDART or
// OUTBACK_NVML is malformed, every slot fails with a text that names the variable, and so does a
// registration of the table.
const outback_runtime* outback_cuda_runtime(void);

#ifdef __cplusplus
}  // extern "C"
#endif
