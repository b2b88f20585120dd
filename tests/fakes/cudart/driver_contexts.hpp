// libcuda's functions of devices, contexts and errors. Each is what cuda.h declares under the name
// that driver_table.cpp gives it.
#pragma once

#include "tests/fakes/cudart/driver.hpp"
#include "tests/fakes/cudart/enqueue.hpp"

namespace fake_cuda::driver {

/// Of the driver's: no call of it makes a context, and with none there is no default stream. Throws
/// what find_stream does.
stream_ptr driver_stream(call& c, CUstream handle);
/// The device whose context is current; throws where there is none.
device& need_current(call& c);

CUresult init(unsigned flags);
CUresult driver_get_version(int* version);
CUresult device_get(CUdevice* found, int ordinal);
CUresult device_get_count(int* count);
CUresult device_get_name(char* name, int size, CUdevice of);
CUresult device_get_uuid(CUuuid* uuid, CUdevice of);
CUresult device_total_mem(size_t* size, CUdevice of);
CUresult device_get_attribute(int* value, CUdevice_attribute which, CUdevice of);
CUresult primary_ctx_get_state(CUdevice of, unsigned* flags, int* active);
CUresult primary_ctx_retain(CUcontext* context, CUdevice of);
CUresult primary_ctx_release(CUdevice of);
CUresult ctx_push_current(CUcontext context);
CUresult ctx_pop_current(CUcontext* context);
CUresult ctx_set_current(CUcontext context);
CUresult ctx_get_current(CUcontext* context);
CUresult ctx_get_device(CUdevice* found);
CUresult ctx_get_device_v2(CUdevice* found, CUcontext of);
CUresult stream_get_ctx(CUstream handle, CUcontext* context);
CUresult stream_get_ctx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green);
CUresult stream_is_capturing(CUstream handle, CUstreamCaptureStatus* status);
CUresult get_error_name(CUresult error, const char** name);
CUresult get_error_string(CUresult error, const char** text);

}  // namespace fake_cuda::driver
