// Entry points: memory that is allocated, registered, asked about.
#include <fmt/format.h>

#include "tests/fakes/cudart/enqueue.hpp"
#include "tests/fakes/cudart/memory.hpp"

using namespace fake_cuda;

namespace {

void allocate_host(call& c, void** ptr, std::size_t size, unsigned flags) {
  device& current = need_context(c.m);
  refuse_unsafe(c);
  require(ptr != nullptr, "a null pointer");
  constexpr unsigned known =
      cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  require((flags & ~known) == 0, "flags that there are not");
  *ptr = size == 0 ? nullptr
                   : reinterpret_cast<void*>(
                         allocate_pinned(c.m, current, size, flags, c.entry_point)->begin);
}

block_ptr host_block(call& c, const void* ptr) {
  const block_ptr found = c.m.blocks.find(reinterpret_cast<uintptr_t>(ptr));
  if (found == nullptr || !found->on_host()) {
    throw refusal(cudaErrorInvalidValue, fmt::format("{} is not pinned", ptr));
  }
  return found;
}

}  // namespace

cudaError_t cudaMalloc(void** ptr, size_t size) {
  return enter(__func__, [&](call& c) {
    device& current = need_context(c.m);
    refuse_unsafe(c);
    require(ptr != nullptr, "a null pointer");
    *ptr = size == 0
               ? nullptr
               : reinterpret_cast<void*>(allocate_device(c.m, current, size, c.entry_point)->begin);
  });
}

cudaError_t cudaFree(void* ptr) {
  return enter(__func__, entry::release, [&](call& c) {
    // Memory of a lost device is given back, too: it is the error that is new then.
    device* const current = [&]() -> device* {
      try {
        return &need_context(c.m);
      } catch (const failure&) {
        return nullptr;
      }
    }();
    if (current != nullptr) refuse_unsafe(c);
    if (ptr != nullptr) {
      const block_ptr freed = find_to_free(c.m, ptr, block_kind::device);
      wait_until_unused(c.lock, c.m, freed, c.entry_point);
      drop(c.m, *freed);
      c.m.check_alive(*c.m.devices[std::size_t(freed->device)]);
    }
    need_context(c.m);
  });
}

cudaError_t cudaHostAlloc(void** ptr, size_t size, unsigned flags) {
  return enter(__func__, [&](call& c) { allocate_host(c, ptr, size, flags); });
}

cudaError_t cudaMallocHost(void** ptr, size_t size) {
  return enter(__func__, [&](call& c) { allocate_host(c, ptr, size, cudaHostAllocDefault); });
}

cudaError_t cudaFreeHost(void* ptr) {
  return enter(__func__, entry::release, [&](call& c) {
    refuse_unsafe(c);
    if (ptr != nullptr) {
      const block_ptr freed = find_to_free(c.m, ptr, block_kind::pinned);
      wait_until_unused(c.lock, c.m, freed, c.entry_point);
      drop(c.m, *freed);
    }
    need_context(c.m);
  });
}

cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned flags) {
  return enter(__func__, [&](call& c) {
    device& current = need_context(c.m);
    refuse_unsafe(c);
    require(ptr != nullptr && size > 0, "no memory");
    constexpr unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped |
                               cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
    require((flags & ~known) == 0, "flags that there are not");
    add_registration(c.m, current, ptr, size, flags, c.entry_point);
  });
}

cudaError_t cudaHostUnregister(void* ptr) {
  return enter(__func__, entry::release, [&](call& c) {
    refuse_unsafe(c);
    require(ptr != nullptr, "a null pointer");
    const block_ptr gone = find_to_free(c.m, ptr, block_kind::registered);
    wait_until_unused(c.lock, c.m, gone, c.entry_point);
    drop(c.m, *gone);
    need_context(c.m);
  });
}

cudaError_t cudaHostGetDevicePointer(void** on_device, void* ptr, unsigned flags) {
  return enter(__func__, [&](call& c) {
    need_context(c.m);
    require(on_device != nullptr && flags == 0, "a null pointer, or flags");
    host_block(c, ptr);
    *on_device = ptr;
  });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* ptr) {
  return enter(__func__, [&](call& c) {
    need_context(c.m);
    require(flags != nullptr, "a null pointer");
    *flags = host_block(c, ptr)->flags;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
  return enter(__func__, [&](call& c) {
    need_context(c.m);
    require(attributes != nullptr, "a null pointer");
    *attributes = {};
    void* const same = const_cast<void*>(ptr);
    const block_ptr found = c.m.blocks.find(reinterpret_cast<uintptr_t>(ptr));
    if (found == nullptr) {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = -2;
      attributes->hostPointer = same;
      return;
    }
    attributes->type = found->on_host() ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    attributes->device = found->device;
    attributes->devicePointer = same;
    attributes->hostPointer = found->on_host() ? same : nullptr;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return enter(__func__, [&](call& c) {
    const device& current = need_context(c.m);
    require(free != nullptr && total != nullptr, "a null pointer");
    *free = current.described.memory - current.used;
    *total = current.described.memory;
  });
}
