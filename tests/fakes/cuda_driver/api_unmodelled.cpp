// Functions of the driver that are there for programs to link, and answer CUDA_ERROR_NOT_SUPPORTED.
// Nobody reads their parameters.

#define FAKE_UNMODELLED(name)                                                    \
  int unmodelled_##name() __asm__(#name) __attribute__((visibility("default"))); \
  int unmodelled_##name() {                                                      \
    return 801; /* CUDA_ERROR_NOT_SUPPORTED */                                   \
  }

extern "C" {

// What torch compiles while it runs.
FAKE_UNMODELLED(cuFuncGetAttribute)
FAKE_UNMODELLED(cuFuncSetAttribute)
FAKE_UNMODELLED(cuFuncSetCacheConfig)
FAKE_UNMODELLED(cuLaunchCooperativeKernel)
FAKE_UNMODELLED(cuLaunchKernel)
FAKE_UNMODELLED(cuLaunchKernelEx)
FAKE_UNMODELLED(cuLinkAddData_v2)
FAKE_UNMODELLED(cuLinkComplete)
FAKE_UNMODELLED(cuLinkCreate_v2)
FAKE_UNMODELLED(cuModuleGetFunction)
FAKE_UNMODELLED(cuModuleLoad)
FAKE_UNMODELLED(cuModuleLoadData)
FAKE_UNMODELLED(cuModuleLoadDataEx)
FAKE_UNMODELLED(cuModuleUnload)
FAKE_UNMODELLED(cuOccupancyMaxActiveBlocksPerMultiprocessor)
FAKE_UNMODELLED(cuPointerGetAttribute)
FAKE_UNMODELLED(cuTensorMapEncodeTiled)

}  // extern "C"
