#include "tests/fakes/cudart/driver_memory.hpp"

#include <fmt/format.h>

#include "tests/fakes/cudart/copy.hpp"
#include "tests/fakes/cudart/memory.hpp"

namespace fake_cuda::driver {
namespace {

CUresult set(const char* name, CUdeviceptr to, size_t pitch, fill_pattern with, size_t width,
             size_t height, CUstream on) {
  return enter(name, [&](call& c) {
    const device& current = need_current(c);
    const stream_ptr of = driver_stream(c, on);
    if (of->device != current.index) {
      throw refusal(cudaErrorInvalidResourceHandle, "the stream is not the current context's");
    }
    fill(c, reinterpret_cast<void*>(to), pitch, with, width, height, *of);
  });
}

}  // namespace

device& need_current(call& c) {
  device* const current = context_device(c.m);
  if (current == nullptr) throw refusal(cudaErrorDeviceUninitialized, "no context is current");
  c.m.check_alive(*current);
  return *current;
}

stream_ptr driver_stream(call& c, CUstream handle) {
  if (const stream_ptr found = c.m.streams.find(handle)) {
    c.m.check_alive(*c.m.devices[std::size_t(found->device)]);
    return found;
  }
  if (handle == nullptr || handle == CU_STREAM_LEGACY) return need_current(c).legacy;
  if (handle == CU_STREAM_PER_THREAD) {
    need_current(c);
    return find_stream(c, handle);
  }
  throw misuse(cudaErrorInvalidResourceHandle,
               c.m.streams.was(handle) ? "the stream was destroyed" : "no stream");
}

CUresult mem_get_info(size_t* free, size_t* total) {
  return enter("cuMemGetInfo", [&](call& c) {
    const device& current = need_current(c);
    require(free != nullptr && total != nullptr, "a null pointer");
    *free = current.described.memory - current.used;
    *total = current.described.memory;
  });
}

CUresult mem_get_address_range(CUdeviceptr* begin, size_t* size, CUdeviceptr of) {
  return enter("cuMemGetAddressRange", [&](call& c) {
    need_current(c);
    const block_ptr found = c.m.blocks.find(uintptr_t(of));
    if (found == nullptr) {
      // CUDA_ERROR_NOT_FOUND, by the runtime's name of that number.
      throw refusal(cudaErrorSymbolNotFound, fmt::format("{:#x} is in no allocation", of));
    }
    if (begin != nullptr) *begin = found->begin;
    if (size != nullptr) *size = found->size;
  });
}

CUresult pointer_get_attribute(void* value, CUpointer_attribute which, CUdeviceptr of) {
  return enter("cuPointerGetAttribute", [&](call& c) {
    need_current(c);
    const block_ptr found = c.m.blocks.find(uintptr_t(of));
    require(value != nullptr, "a null pointer");
    if (found == nullptr) throw refusal(cudaErrorInvalidValue, fmt::format("{:#x} is unknown", of));
    switch (which) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *static_cast<unsigned*>(value) =
            found->on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *static_cast<CUdeviceptr*>(value) = of;
        break;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *static_cast<int*>(value) = found->device;
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *static_cast<CUdeviceptr*>(value) = found->begin;
        break;
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *static_cast<size_t*>(value) = found->size;
        break;
      default:
        throw refusal(cudaErrorNotSupported, fmt::format("attribute {} of memory", int(which)));
    }
  });
}

CUresult memset_d8(CUdeviceptr to, unsigned char value, size_t count, CUstream on) {
  return set("cuMemsetD8Async", to, count, {.value = value, .size = 1}, count, 1, on);
}
CUresult memset_d16(CUdeviceptr to, unsigned short value, size_t count, CUstream on) {
  return set("cuMemsetD16Async", to, count * 2, {.value = value, .size = 2}, count, 1, on);
}
CUresult memset_d32(CUdeviceptr to, unsigned value, size_t count, CUstream on) {
  return set("cuMemsetD32Async", to, count * 4, {.value = value, .size = 4}, count, 1, on);
}
CUresult memset_2d8(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                    CUstream on) {
  return set("cuMemsetD2D8Async", to, pitch, {.value = value, .size = 1}, width, height, on);
}
CUresult memset_2d16(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
                     size_t height, CUstream on) {
  return set("cuMemsetD2D16Async", to, pitch, {.value = value, .size = 2}, width, height, on);
}
CUresult memset_2d32(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                     CUstream on) {
  return set("cuMemsetD2D32Async", to, pitch, {.value = value, .size = 4}, width, height, on);
}

}  // namespace fake_cuda::driver
