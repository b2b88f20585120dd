// libcuda: devices and contexts. Only primary contexts are modelled.
#include "tests/fakes/cudart/driver_contexts.hpp"

#include <algorithm>
#include <cstring>

#include "tests/fakes/cudart/attributes.hpp"

namespace fake_cuda::driver {
namespace {

// A context that may become current: it is there, or it would be a misuse.
device& alive(call& c, CUcontext context) {
  device* const found = device_of(c.m, context);
  if (found == nullptr) throw refusal(cudaErrorDeviceUninitialized, "no context");
  if (!found->active()) {
    throw misuse(cudaErrorContextIsDestroyed, "the primary context was released");
  }
  return *found;
}

CUcontext current_context(call& c) {
  const device* const current = context_device(c.m);
  return current == nullptr ? nullptr : context_of(*current);
}

}  // namespace

CUresult init(unsigned flags) {
  return CUresult(fake_cuda::enter("cuInit", entry::free_of_driver, [&](call& c) {
    require(flags == 0, "flags");
    c.m.init_driver();
  }));
}

CUresult device_get(CUdevice* found, int ordinal) {
  return enter("cuDeviceGet", [&](call& c) {
    require(found != nullptr, "a null pointer");
    *found = c.m.device_at(ordinal).index;
  });
}

CUresult device_get_count(int* count) {
  return enter("cuDeviceGetCount", [&](call& c) {
    require(count != nullptr, "a null pointer");
    *count = int(c.m.devices.size());
  });
}

CUresult device_get_name(char* name, int size, CUdevice of) {
  return enter("cuDeviceGetName", [&](call& c) {
    const std::string& full = c.m.device_at(of).described.name;
    require(name != nullptr && size > 0, "no room");
    const std::size_t used = std::min(std::size_t(size) - 1, full.size());
    std::memcpy(name, full.data(), used);
    name[used] = '\0';
  });
}

CUresult device_get_uuid(CUuuid* uuid, CUdevice of) {
  return enter("cuDeviceGetUuid", [&](call& c) {
    const device& asked = c.m.device_at(of);
    require(uuid != nullptr, "a null pointer");
    std::memcpy(uuid->bytes, asked.described.uuid.data(), sizeof(uuid->bytes));
  });
}

CUresult device_total_mem(size_t* size, CUdevice of) {
  return enter("cuDeviceTotalMem", [&](call& c) {
    require(size != nullptr, "a null pointer");
    *size = c.m.device_at(of).described.memory;
  });
}

CUresult device_get_attribute(int* value, CUdevice_attribute which, CUdevice of) {
  return enter("cuDeviceGetAttribute", [&](call& c) {
    require(value != nullptr, "a null pointer");
    *value = attribute(c.m, c.m.device_at(of), int(which));
  });
}

CUresult primary_ctx_get_state(CUdevice of, unsigned* flags, int* active) {
  return enter("cuDevicePrimaryCtxGetState", [&](call& c) {
    const device& asked = c.m.device_at(of);
    require(flags != nullptr && active != nullptr, "a null pointer");
    *flags = asked.flags;
    *active = asked.active();
  });
}

CUresult primary_ctx_retain(CUcontext* context, CUdevice of) {
  return enter("cuDevicePrimaryCtxRetain", [&](call& c) {
    device& asked = c.m.device_at(of);
    require(context != nullptr, "a null pointer");
    c.m.check_alive(asked);
    c.m.retain(asked);
    *context = context_of(asked);
  });
}

CUresult primary_ctx_release(CUdevice of) {
  return enter("cuDevicePrimaryCtxRelease",
               [&](call& c) { c.m.release(c.lock, c.m.device_at(of), c.entry_point); });
}

CUresult ctx_push_current(CUcontext context) {
  return enter("cuCtxPushCurrent",
               [&](call& c) { this_thread().contexts.push_back(alive(c, context).index); });
}

CUresult ctx_pop_current(CUcontext* context) {
  return enter("cuCtxPopCurrent", [&](call& c) {
    auto& contexts = this_thread().contexts;
    if (contexts.empty() || contexts.back() < 0) {
      throw refusal(cudaErrorDeviceUninitialized, "no context is current");
    }
    if (context != nullptr) *context = current_context(c);
    contexts.pop_back();
  });
}

CUresult ctx_set_current(CUcontext context) {
  return enter("cuCtxSetCurrent",
               [&](call& c) { set_context(context == nullptr ? nullptr : &alive(c, context)); });
}

CUresult ctx_get_current(CUcontext* context) {
  return enter("cuCtxGetCurrent", [&](call& c) {
    require(context != nullptr, "a null pointer");
    *context = current_context(c);
  });
}

CUresult ctx_get_device(CUdevice* found) {
  return enter("cuCtxGetDevice", [&](call& c) {
    require(found != nullptr, "a null pointer");
    const device* const current = context_device(c.m);
    if (current == nullptr) throw refusal(cudaErrorDeviceUninitialized, "no context is current");
    *found = current->index;
  });
}

CUresult ctx_get_device_v2(CUdevice* found, CUcontext of) {
  return enter("cuCtxGetDevice", [&](call& c) {
    require(found != nullptr, "a null pointer");
    const device* const asked = of == nullptr ? context_device(c.m) : &alive(c, of);
    if (asked == nullptr) throw refusal(cudaErrorDeviceUninitialized, "no context is current");
    *found = asked->index;
  });
}

CUresult stream_get_ctx(CUstream handle, CUcontext* context) {
  return enter("cuStreamGetCtx", [&](call& c) {
    require(context != nullptr, "a null pointer");
    *context = context_of(*c.m.devices[std::size_t(driver_stream(c, handle)->device)]);
  });
}

CUresult stream_get_ctx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  return enter("cuStreamGetCtx", [&](call& c) {
    require(context != nullptr && green != nullptr, "a null pointer");
    *context = context_of(*c.m.devices[std::size_t(driver_stream(c, handle)->device)]);
    *green = nullptr;
  });
}

CUresult stream_is_capturing(CUstream handle, CUstreamCaptureStatus* status) {
  return enter("cuStreamIsCapturing", [&](call& c) {
    require(status != nullptr, "a null pointer");
    *status = CUstreamCaptureStatus(capture_status(c, *driver_stream(c, handle)));
  });
}

CUresult get_error_name(CUresult error, const char** name) {
  *name = driver_name(int(error));
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult get_error_string(CUresult error, const char** text) {
  *text = driver_name(int(error)) == nullptr ? nullptr : error_text(int(error));
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult driver_get_version(int* version) {
  return CUresult(cudaDriverGetVersion(version));
}

}  // namespace fake_cuda::driver
