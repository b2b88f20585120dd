// Which functions the fake driver has, and since which release: what cudaGetDriverEntryPoint
// answers.
#include "tests/fakes/cudart/driver_memory.hpp"
#include "tests/fakes/cudart/driver_modules.hpp"

namespace fake_cuda::driver {
namespace {

// A function that is not what cuda.h declares does not compile.
template <class Declared>
void* as(Declared* given) {
  return reinterpret_cast<void*>(given);
}

// cuda.h renames some names to those of a later release, so these two are not expanded alike.
#define FAKE_CUDA_FUNCTION(name, since, ours) {#name, since, as<decltype(::name)>(&ours)}

// There to be found, by torch before it needs any of them. Nobody reads their parameters.
#define FAKE_CUDA_UNMODELLED(name, since)                                                      \
  {#name, since, as<CUresult()>([]() -> CUresult {                                             \
     return enter(#name, [](call&) { throw refusal(cudaErrorNotSupported, "not modelled"); }); \
   })}

const function table[] = {
    FAKE_CUDA_FUNCTION(cuInit, 2000, init),
    FAKE_CUDA_FUNCTION(cuDriverGetVersion, 2020, driver_get_version),
    FAKE_CUDA_FUNCTION(cuGetErrorName, 6000, get_error_name),
    FAKE_CUDA_FUNCTION(cuGetErrorString, 6000, get_error_string),
    FAKE_CUDA_FUNCTION(cuDeviceGet, 2000, device_get),
    FAKE_CUDA_FUNCTION(cuDeviceGetCount, 2000, device_get_count),
    FAKE_CUDA_FUNCTION(cuDeviceGetName, 2000, device_get_name),
    {"cuDeviceGetUuid", 9020, as<CUresult(CUuuid*, CUdevice)>(&device_get_uuid)},
    FAKE_CUDA_FUNCTION(cuDeviceGetUuid, 11040, device_get_uuid),
    FAKE_CUDA_FUNCTION(cuDeviceTotalMem, 3020, device_total_mem),
    FAKE_CUDA_FUNCTION(cuDeviceGetAttribute, 2000, device_get_attribute),
    FAKE_CUDA_FUNCTION(cuDevicePrimaryCtxGetState, 7000, primary_ctx_get_state),
    FAKE_CUDA_FUNCTION(cuDevicePrimaryCtxRetain, 7000, primary_ctx_retain),
    FAKE_CUDA_FUNCTION(cuDevicePrimaryCtxRelease, 11000, primary_ctx_release),
    FAKE_CUDA_FUNCTION(cuCtxPushCurrent, 4000, ctx_push_current),
    FAKE_CUDA_FUNCTION(cuCtxPopCurrent, 4000, ctx_pop_current),
    FAKE_CUDA_FUNCTION(cuCtxSetCurrent, 4000, ctx_set_current),
    FAKE_CUDA_FUNCTION(cuCtxGetCurrent, 4000, ctx_get_current),
    {"cuCtxGetDevice", 2000, as<CUresult(CUdevice*)>(&ctx_get_device)},
    {"cuCtxGetDevice", 13000, as<CUresult(CUdevice*, CUcontext)>(&ctx_get_device_v2)},
    {"cuStreamGetCtx", 9020, as<CUresult(CUstream, CUcontext*)>(&stream_get_ctx)},
    {"cuStreamGetCtx", 12050, as<CUresult(CUstream, CUcontext*, CUgreenCtx*)>(&stream_get_ctx_v2)},
    FAKE_CUDA_FUNCTION(cuStreamIsCapturing, 10000, stream_is_capturing),
    FAKE_CUDA_FUNCTION(cuMemGetInfo, 3020, mem_get_info),
    FAKE_CUDA_FUNCTION(cuMemGetAddressRange, 3020, mem_get_address_range),
    FAKE_CUDA_FUNCTION(cuMemsetD8Async, 3020, memset_d8),
    FAKE_CUDA_FUNCTION(cuMemsetD16Async, 3020, memset_d16),
    FAKE_CUDA_FUNCTION(cuMemsetD32Async, 3020, memset_d32),
    FAKE_CUDA_FUNCTION(cuMemsetD2D8Async, 3020, memset_2d8),
    FAKE_CUDA_FUNCTION(cuMemsetD2D16Async, 3020, memset_2d16),
    FAKE_CUDA_FUNCTION(cuMemsetD2D32Async, 3020, memset_2d32),
    FAKE_CUDA_FUNCTION(cuPointerGetAttribute, 4000, pointer_get_attribute),
    FAKE_CUDA_FUNCTION(cuModuleLoad, 2000, module_load),
    FAKE_CUDA_FUNCTION(cuModuleLoadData, 2000, module_load_data),
    FAKE_CUDA_FUNCTION(cuModuleLoadDataEx, 2010, module_load_data_ex),
    FAKE_CUDA_FUNCTION(cuModuleUnload, 2000, module_unload),
    FAKE_CUDA_FUNCTION(cuModuleGetFunction, 2000, module_get_function),
    FAKE_CUDA_FUNCTION(cuFuncGetParamInfo, 12040, func_get_param_info),
    FAKE_CUDA_FUNCTION(cuFuncGetAttribute, 2020, func_get_attribute),
    FAKE_CUDA_FUNCTION(cuFuncSetAttribute, 9000, func_set_attribute),
    FAKE_CUDA_FUNCTION(cuFuncSetCacheConfig, 3000, func_set_cache_config),
    FAKE_CUDA_FUNCTION(cuLaunchKernel, 4000, launch_kernel),
    FAKE_CUDA_FUNCTION(cuLaunchCooperativeKernel, 9000, launch_cooperative_kernel),
    FAKE_CUDA_FUNCTION(cuLaunchKernelEx, 11060, launch_kernel_ex),
    FAKE_CUDA_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, occupancy),
    FAKE_CUDA_UNMODELLED(cuMemAddressReserve, 10020),
    FAKE_CUDA_UNMODELLED(cuMemAddressFree, 10020),
    FAKE_CUDA_UNMODELLED(cuMemCreate, 10020),
    FAKE_CUDA_UNMODELLED(cuMemRelease, 10020),
    FAKE_CUDA_UNMODELLED(cuMemMap, 10020),
    FAKE_CUDA_UNMODELLED(cuMemUnmap, 10020),
    FAKE_CUDA_UNMODELLED(cuMemSetAccess, 10020),
    FAKE_CUDA_UNMODELLED(cuMemGetAllocationGranularity, 10020),
    FAKE_CUDA_UNMODELLED(cuMemGetAllocationPropertiesFromHandle, 10020),
    FAKE_CUDA_UNMODELLED(cuMemExportToShareableHandle, 10020),
    FAKE_CUDA_UNMODELLED(cuMemImportFromShareableHandle, 10020),
    FAKE_CUDA_UNMODELLED(cuMemRetainAllocationHandle, 11000),
    FAKE_CUDA_UNMODELLED(cuMulticastCreate, 12010),
    FAKE_CUDA_UNMODELLED(cuMulticastAddDevice, 12010),
    FAKE_CUDA_UNMODELLED(cuMulticastBindMem, 12010),
    FAKE_CUDA_UNMODELLED(cuMulticastUnbind, 12010),
    FAKE_CUDA_UNMODELLED(cuStreamWriteValue32, 11070),
    FAKE_CUDA_UNMODELLED(cuDeviceGetDevResource, 12040),
    FAKE_CUDA_UNMODELLED(cuDevResourceGenerateDesc, 12040),
    FAKE_CUDA_UNMODELLED(cuDevSmResourceSplitByCount, 12040),
    FAKE_CUDA_UNMODELLED(cuGreenCtxCreate, 12040),
    FAKE_CUDA_UNMODELLED(cuGreenCtxDestroy, 12040),
    FAKE_CUDA_UNMODELLED(cuGreenCtxStreamCreate, 12040),
    FAKE_CUDA_UNMODELLED(cuCtxFromGreenCtx, 12040),
    FAKE_CUDA_UNMODELLED(cuTensorMapEncodeTiled, 12000),
};

}  // namespace

std::span<const function> functions() {
  return table;
}

}  // namespace fake_cuda::driver
