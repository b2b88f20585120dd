// libcuda's functions of modules and their kernels, which programs compile while they run. Each is
// what cuda.h declares under the name that driver_table.cpp gives it.
#pragma once

#include "tests/fakes/cudart/driver_contexts.hpp"

namespace fake_cuda::driver {

CUresult module_load(CUmodule* made, const char* file);
CUresult module_load_data(CUmodule* made, const void* image);
CUresult module_load_data_ex(CUmodule* made, const void* image, unsigned count, CUjit_option*,
                             void**);
CUresult module_unload(CUmodule gone);
CUresult module_get_function(CUfunction* found, CUmodule of, const char* name);
CUresult func_get_param_info(CUfunction of, size_t index, size_t* offset, size_t* size);
CUresult func_get_attribute(int* value, CUfunction_attribute which, CUfunction of);
CUresult func_set_attribute(CUfunction of, CUfunction_attribute which, int value);
CUresult func_set_cache_config(CUfunction of, CUfunc_cache);
CUresult launch_kernel(CUfunction launched, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                       CUstream on, void** arguments, void** extra);
CUresult launch_cooperative_kernel(CUfunction launched, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream on,
                                   void** arguments);
CUresult launch_kernel_ex(const CUlaunchConfig* given, CUfunction launched, void** arguments,
                          void** extra);
CUresult occupancy(int* blocks, CUfunction of, int block_size, size_t shared);

}  // namespace fake_cuda::driver
