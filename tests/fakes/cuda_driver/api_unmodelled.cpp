// Functions of the driver that are there for programs to link, and answer CUDA_ERROR_NOT_SUPPORTED.
// Nobody reads their parameters.

#define FAKE_UNMODELLED(name)                                                    \
  int unmodelled_##name() __asm__(#name) __attribute__((visibility("default"))); \
  int unmodelled_##name() {                                                      \
    return 801; /* CUDA_ERROR_NOT_SUPPORTED */                                   \
  }

extern "C" {

// What torch and Triton compile while they run.
FAKE_UNMODELLED(cuCtxGetLimit)
FAKE_UNMODELLED(cuCtxSetLimit)
FAKE_UNMODELLED(cuGetExportTable)
FAKE_UNMODELLED(cuLinkAddData_v2)
FAKE_UNMODELLED(cuLinkComplete)
FAKE_UNMODELLED(cuLinkCreate_v2)
FAKE_UNMODELLED(cuTensorMapEncodeTiled)

}  // extern "C"
