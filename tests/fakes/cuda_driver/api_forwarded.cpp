// Functions of the driver that the fake CUDA runtime has: each is found there when it is called.
#include <dlfcn.h>

#include <cstring>

#include "tests/fakes/cudart/cuda_api.hpp"
#include "tests/fakes/cudart/fake_kernels.h"

namespace {

constexpr unsigned newest = 13000;

template <class... Parameters, class... Given>
CUresult forward(const char* name, CUresult (*)(Parameters...), Given... given) {
  void* const found = fake_cudart_driver_function(name, newest);
  if (found == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return reinterpret_cast<CUresult (*)(Parameters...)>(found)(given...);
}

}  // namespace

// cuda.h renames some functions to what a later release calls them; #name is before that.
#define FAKE_FORWARD(name, ...) return forward(#name, &name, __VA_ARGS__)

CUresult cuInit(unsigned flags) {
  FAKE_FORWARD(cuInit, flags);
}
CUresult cuDriverGetVersion(int* version) {
  FAKE_FORWARD(cuDriverGetVersion, version);
}
CUresult cuGetErrorName(CUresult error, const char** name) {
  FAKE_FORWARD(cuGetErrorName, error, name);
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  FAKE_FORWARD(cuGetErrorString, error, text);
}
CUresult cuDeviceGet(CUdevice* found, int ordinal) {
  FAKE_FORWARD(cuDeviceGet, found, ordinal);
}
CUresult cuDeviceGetCount(int* count) {
  FAKE_FORWARD(cuDeviceGetCount, count);
}
CUresult cuDeviceGetName(char* name, int size, CUdevice of) {
  FAKE_FORWARD(cuDeviceGetName, name, size, of);
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice of) {
  FAKE_FORWARD(cuDeviceGetUuid, uuid, of);
}
CUresult cuDeviceTotalMem(size_t* size, CUdevice of) {
  FAKE_FORWARD(cuDeviceTotalMem, size, of);
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice of) {
  FAKE_FORWARD(cuDeviceGetAttribute, value, which, of);
}
CUresult cuDevicePrimaryCtxGetState(CUdevice of, unsigned* flags, int* active) {
  FAKE_FORWARD(cuDevicePrimaryCtxGetState, of, flags, active);
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice of) {
  FAKE_FORWARD(cuDevicePrimaryCtxRetain, context, of);
}
CUresult cuDevicePrimaryCtxRelease(CUdevice of) {
  FAKE_FORWARD(cuDevicePrimaryCtxRelease, of);
}
CUresult cuCtxPushCurrent(CUcontext context) {
  FAKE_FORWARD(cuCtxPushCurrent, context);
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  FAKE_FORWARD(cuCtxPopCurrent, context);
}
CUresult cuCtxSetCurrent(CUcontext context) {
  FAKE_FORWARD(cuCtxSetCurrent, context);
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  FAKE_FORWARD(cuCtxGetCurrent, context);
}
CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  FAKE_FORWARD(cuStreamIsCapturing, handle, status);
}
CUresult cuMemGetInfo(size_t* free, size_t* total) {
  FAKE_FORWARD(cuMemGetInfo, free, total);
}
CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* size, CUdeviceptr of) {
  FAKE_FORWARD(cuMemGetAddressRange, begin, size, of);
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute which, CUdeviceptr of) {
  FAKE_FORWARD(cuPointerGetAttribute, value, which, of);
}
CUresult cuModuleLoad(CUmodule* made, const char* file) {
  FAKE_FORWARD(cuModuleLoad, made, file);
}
CUresult cuModuleLoadData(CUmodule* made, const void* image) {
  FAKE_FORWARD(cuModuleLoadData, made, image);
}
CUresult cuModuleLoadDataEx(CUmodule* made, const void* image, unsigned count,
                            CUjit_option* options, void** values) {
  FAKE_FORWARD(cuModuleLoadDataEx, made, image, count, options, values);
}
CUresult cuModuleUnload(CUmodule gone) {
  FAKE_FORWARD(cuModuleUnload, gone);
}
CUresult cuModuleGetFunction(CUfunction* found, CUmodule of, const char* name) {
  FAKE_FORWARD(cuModuleGetFunction, found, of, name);
}
CUresult cuFuncGetParamInfo(CUfunction of, size_t index, size_t* offset, size_t* size) {
  FAKE_FORWARD(cuFuncGetParamInfo, of, index, offset, size);
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction of) {
  FAKE_FORWARD(cuFuncGetAttribute, value, which, of);
}
CUresult cuFuncSetAttribute(CUfunction of, CUfunction_attribute which, int value) {
  FAKE_FORWARD(cuFuncSetAttribute, of, which, value);
}
CUresult cuFuncSetCacheConfig(CUfunction of, CUfunc_cache which) {
  FAKE_FORWARD(cuFuncSetCacheConfig, of, which);
}
CUresult cuLaunchKernel(CUfunction launched, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream on, void** arguments, void** extra) {
  FAKE_FORWARD(cuLaunchKernel, launched, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
               on, arguments, extra);
}
CUresult cuLaunchCooperativeKernel(CUfunction launched, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream on,
                                   void** arguments) {
  FAKE_FORWARD(cuLaunchCooperativeKernel, launched, grid_x, grid_y, grid_z, block_x, block_y,
               block_z, shared, on, arguments);
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* given, CUfunction launched, void** arguments,
                          void** extra) {
  FAKE_FORWARD(cuLaunchKernelEx, given, launched, arguments, extra);
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction of, int block_size,
                                                     size_t shared) {
  FAKE_FORWARD(cuOccupancyMaxActiveBlocksPerMultiprocessor, blocks, of, block_size, shared);
}

// The older of two functions of one name is the one that has it without a number.
CUresult cuCtxGetDevice(CUdevice* found) {
  void* const function = fake_cudart_driver_function("cuCtxGetDevice", 12000);
  return reinterpret_cast<CUresult (*)(CUdevice*)>(function)(found);
}

CUresult cuGetProcAddress(const char* symbol, void** address, int version, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
  *address = fake_cudart_driver_function(symbol, unsigned(version));
  if (*address == nullptr && std::strncmp(symbol, "cuGetProcAddress", 16) == 0) {
    *address = reinterpret_cast<void*>(&cuGetProcAddress);
  }
  const bool found = *address != nullptr;
  if (status != nullptr) {
    *status = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return found || status != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
