// The memory slots of the OpenCL runtime: device memory and pinned host memory.
#include "backend_template/runtimes/opencl/opencl_runtime.hpp"

namespace outback::opencl {

void* opencl_runtime::mem_alloc(int32_t index, std::size_t size) {
  device& d = at(index);
  if (size == 0) return nullptr;
  // Charged before the driver is asked, so that two threads cannot both take the last bytes.
  d.budget().take(size, d.facts().info.memory_size, index);
  void* base = nullptr;
  try {
    base = d.pointers().alloc(d.context(), d.handle(), size);
    d.memory().add({.base = base, .size = size});
    return base;
  } catch (...) {
    if (base != nullptr) d.pointers().free(d.context(), base);
    d.budget().give_back(size);
    throw;
  }
}

void opencl_runtime::mem_free(int32_t index, void* ptr) {
  device& d = at(index);
  if (ptr == nullptr) return;
  // Out of the books first: another thread may get the same address as soon as it is free.
  const auto taken = d.memory().take(ptr);
  if (!taken) {
    throw invalid_argument(
        "the pointer is not what mem_alloc answered for this device: freed already, of another "
        "device, or inside of an allocation");
  }
  try {
    d.pointers().free(d.context(), ptr);
  } catch (...) {
    d.memory().add(*taken);
    throw;
  }
  d.budget().give_back(taken->size);
}

void* opencl_runtime::host_alloc(std::size_t size) {
  device& d = host_device();
  if (size == 0) return nullptr;
  void* const place = d.pointers().alloc_host(d.context(), size);
  try {
    pinned_.add({.base = place, .size = size});
  } catch (...) {
    d.pointers().free(d.context(), place);
    throw;
  }
  return place;
}

void opencl_runtime::host_free(void* ptr) {
  device& d = host_device();
  if (ptr == nullptr) return;
  // Out of the books first: another thread may get the same address as soon as it is free.
  const auto taken = pinned_.take(ptr);
  if (!taken) {
    throw invalid_argument("the pointer is not what host_memory.alloc answered: freed already?");
  }
  try {
    d.pointers().free(d.context(), ptr);
  } catch (...) {
    pinned_.add(*taken);
    throw;
  }
}

outback_pointer_info opencl_runtime::host_info(const void* ptr) {
  outback_pointer_info info = {};
  info.device = OUTBACK_HOST;
  // The books are the runtime's own, but a lock of theirs may be held for ever in a forked child.
  const platform& all = there();
  if (ptr == nullptr || all.forked()) return info;
  if (const auto found = pinned_.find(ptr)) {
    info.pinned = 1;
    info.base = found->base;
    info.size = found->size;
    return info;
  }
  for (const auto& each : all.devices()) {
    const auto found = each->memory().find(ptr);
    if (!found) continue;
    info.device = each->index();
    info.base = found->base;
    info.size = found->size;
    break;
  }
  return info;
}

}  // namespace outback::opencl
