// The ipc slots of the host runtime: memory and events that processes share.
#include <sys/mman.h>

#include <functional>

#include "backend_template/runtimes/host/event.hpp"
#include "backend_template/runtimes/host/host_runtime.hpp"
#include "backend_template/runtimes/pages.hpp"

namespace outback::host {

outback_ipc_handle host_runtime::ipc_get_memory(int32_t index, void* ptr) {
  at(index);
  const auto found = allocations_.find(ptr);
  if (!found || found->base != ptr || found->device != index || found->pages == nullptr) {
    throw invalid_argument("the pointer is not what mem_alloc answered for device " +
                           std::to_string(index));
  }
  return found->pages->share(found->size);
}

void* host_runtime::ipc_open_memory(int32_t index, const outback_ipc_handle& handle) {
  at(index);
  const shared_file file(shared_kind::memory, handle);
  // By the file, not by the process's number: process numbers are used again.
  if (allocations_.any([&](const allocation& own) {
        return own.pages != nullptr && own.pages->are_of(file.id());
      })) {
    throw invalid_argument("the handle is of this process's own memory, which needs no opening");
  }
  return opened_memory_.open(file.id(), index, [&] {
    const std::size_t size = file.size();
    void* const bytes = file.map();
    try {
      void* const base = options_.protected_memory ? protected_addresses(size) : bytes;
      allocations_.add({.base = base, .size = size, .device = index, .bytes = bytes});
      return base;
    } catch (...) {
      munmap(bytes, whole_pages(size));
      throw;
    }
  });
}

void host_runtime::ipc_close_memory(int32_t index, void* ptr) {
  at(index);
  opened_memory_.close(ptr, index, [&] {
    release(allocations_.take_if(ptr, std::mem_fn(&allocation::is_of_another_process)).value());
  });
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
      new event(index, OUTBACK_EVENT_INTERPROCESS, std::make_shared<shared_recordings>(handle)));
}

}  // namespace outback::host
