// The host memory slots of the CUDA runtime: pinned memory, allocated or registered, and what is
// known of a pointer.
#include <cstdint>
#include <limits>
#include <string>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/cuda/current.hpp"
#include "backend_template/runtimes/fork_count.hpp"

namespace outback::cuda {

device& cuda_runtime::host_device() {
  const machine& m = usable();
  if (m.devices.empty()) throw unsupported("there is no pinned memory: " + m.absence);
  // A context that this runtime uses already; else one that somebody made, torch say; else a new
  // one, which takes memory of the device.
  bool (*const wishes[])(device&) = {[](device& d) { return d.has_context(); },
                                     [](device& d) { return d.active(); },
                                     [](device&) { return true; }};
  for (const auto& fits : wishes) {
    for (const auto& d : m.devices) {
      if (!d->lost() && fits(*d)) return *d;
    }
  }
  m.devices[0]->check_not_lost();
  return *m.devices[0];
}

void* cuda_runtime::host_alloc(std::size_t size) {
  device& d = host_device();
  if (size == 0) return nullptr;
  if (size > std::size_t(std::numeric_limits<std::ptrdiff_t>::max())) {
    throw out_of_memory("no memory has " + std::to_string(size) + " bytes");
  }
  const beside_captures here(d);
  void* ptr = nullptr;
  // Portable: pinned for all devices, since the contract's host memory belongs to none.
  d.call(d.cuda().cudaHostAlloc, &ptr, size, unsigned{cudaHostAllocPortable});
  try {
    pinned_.add({.base = ptr, .size = size, .registered = false});
  } catch (...) {
    d.cuda().cudaFreeHost(ptr);
    throw;
  }
  return ptr;
}

void cuda_runtime::host_free(void* ptr) {
  device& d = host_device();
  if (ptr == nullptr) return;
  const beside_captures here(d);
  // Forgotten before the memory is freed, because another thread may get the same address at once.
  if (!pinned_.take_if(ptr, [](const pinned_range& range) { return !range.registered; })) {
    throw invalid_argument("the pointer is not what host_memory.alloc answered");
  }
  d.call(d.cuda().cudaFreeHost, ptr);  // freed also if it returns an error of earlier work
}

void cuda_runtime::host_register(void* ptr, std::size_t size) {
  device& d = host_device();
  // Added before CUDA is called, so that of two threads with the same range one is refused here.
  pinned_.add_registered(ptr, size);
  try {
    const beside_captures here(d);
    d.call(d.cuda().cudaHostRegister, ptr, size, unsigned{cudaHostRegisterPortable});
  } catch (...) {
    pinned_.take(ptr);
    throw;
  }
}

void cuda_runtime::host_unregister(void* ptr) {
  device& d = host_device();
  const beside_captures here(d);
  pinned_.take_registered(ptr);
  d.call(d.cuda().cudaHostUnregister, ptr);
}

outback_pointer_info cuda_runtime::host_info(const void* ptr) {
  outback_pointer_info info = {};  // of pageable memory
  info.device = OUTBACK_HOST;
  const machine* m = machine_.load(std::memory_order_acquire);
  // Before CUDA was started nobody has memory of it through this runtime. In a forked child CUDA
  // cannot be asked, so all memory counts as pageable there.
  if (m == nullptr || fork_count() != m->forks || ptr == nullptr) return info;
  if (const auto known = pinned_.find(ptr)) {
    info.pinned = 1;
    info.base = known->base;
    info.size = known->size;
    return info;
  }
  device* asked = nullptr;
  for (const auto& d : m->devices) {
    if (asked == nullptr && d->has_context() && !d->lost()) asked = d.get();
  }
  if (asked == nullptr) return info;  // no context is made only to ask
  const on_device here(*asked);
  pointer_attributes attributes = {};
  asked->call(asked->cuda().cudaPointerGetAttributes, &attributes.known, ptr);
  if (attributes.known.type == cudaMemoryTypeUnregistered) return info;
  if (attributes.known.type == cudaMemoryTypeHost) {
    info.pinned = 1;
  } else {
    info.device = attributes.known.device;
  }
  // A failure is no error: CUDA may not know the range of memory that others pinned.
  CUdeviceptr base = 0;
  std::size_t size = 0;
  if (asked->driver().cuMemGetAddressRange(&base, &size, reinterpret_cast<CUdeviceptr>(ptr)) ==
      CUDA_SUCCESS) {
    info.base = reinterpret_cast<void*>(base);
    info.size = size;
  }
  return info;
}

}  // namespace outback::cuda
