// The C entry point of the CUDA runtime. A project that links this runtime needs this header and no
// other of the folder, and no header of CUDA's.
#pragma once

#include "outback/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns the table of the process's one CUDA runtime. It is never null and stays valid until the
// process ends. May be called from any thread.
//
// Neither this call nor device_count starts CUDA, as long as NVML can count the devices, so both
// are safe before a fork. Where there is no libcudart, no driver or no device, or CUDA does not
// start, device_count returns 0, every other slot that needs a device fails, and last_error says
// why. library.hpp lists where libcudart is looked for. If OUTBACK_CUDART or OUTBACK_NVML is
// malformed, every slot fails with a text that names it, and so does a registration of the table.
const outback_runtime* outback_cuda_runtime(void);

#ifdef __cplusplus
}  // extern "C"
#endif
