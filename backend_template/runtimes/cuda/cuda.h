// The CUDA runtime, for whoever takes a table by the name of a C function.
#pragma once

#include "outback/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// The process's one instance. Never null, and valid until the process ends. Neither this call nor
// device_count starts CUDA, so that both are safe before a fork; where there is no libcudart, no
// driver or no device, or CUDA does not start, device_count answers 0 and last_error of any other
// slot says why. Which libcudart it is, library.hpp tells.
const outback_runtime* outback_cuda_runtime(void);

#ifdef __cplusplus
}  // extern "C"
#endif
