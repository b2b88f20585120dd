// The ipc slots of the host runtime: memory and events that processes share.
#include <sys/mman.h>

#include "backend_template/runtimes/host/event.hpp"
#include "backend_template/runtimes/host/host_runtime.hpp"
#include "backend_template/runtimes/host/page_memory.hpp"

namespace outback::host {

outback_ipc_handle host_runtime::ipc_get_memory(int32_t index, void* ptr) {
  device& d = at(index);
  const auto found = allocations_.find(ptr);
  if (!found || found->base != ptr || found->device != index || found->block == nullptr) {
    throw invalid_argument("the pointer is not what mem_alloc answered for device " +
                           std::to_string(index));
  }
  // Sharing copies the memory into a file and then exchanges the pages. What the device wrote in
  // between would be lost.
  if (!ipc_memory_.shared(found->bytes)) d.sync();
  return ipc_memory_.share(found->bytes, found->size);
}

void* host_runtime::ipc_open_memory(int32_t index, const outback_ipc_handle& handle) {
  at(index);
  // The callback runs under ipc_memory's lock, and only for memory that was not open yet. So a
  // range is added to the allocations once.
  return ipc_memory_.open(handle, index, [&](void* bytes, std::size_t size) {
    void* const base = addresses_ ? addresses_->reserve(size) : bytes;
    allocations_.add(
        {.base = base, .size = size, .device = index, .bytes = bytes, .block = nullptr});
    return base;
  });
}

void host_runtime::ipc_close_memory(int32_t index, void* ptr) {
  at(index);
  if (ipc_memory_.close(ptr, index)) release(allocations_.take_blockless(ptr).value());
}

outback_ipc_handle host_runtime::ipc_get_event(int32_t index, outback_event handle) {
  const event& e = event_at(index, handle);
  if (e.shared() == nullptr) {
    throw invalid_argument("the event was created without OUTBACK_EVENT_INTERPROCESS");
  }
  return e.shared()->handle();
}

outback_event host_runtime::ipc_open_event(int32_t index, const outback_ipc_handle& handle) {
  at(index);
  return reinterpret_cast<outback_event>(
      new event(index, OUTBACK_EVENT_INTERPROCESS, std::make_shared<ipc_event>(handle)));
}

}  // namespace outback::host
