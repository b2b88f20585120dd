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
CUresult cuMemGetInfo(size_t* free, size_t* total) {
  FAKE_FORWARD(cuMemGetInfo, free, total);
}
CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* size, CUdeviceptr of) {
  FAKE_FORWARD(cuMemGetAddressRange, begin, size, of);
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
