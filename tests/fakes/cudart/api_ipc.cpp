// Entry points: memory and events of several processes.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fakes/cudart/enqueue.hpp"
#include "tests/fakes/cudart/ipc.hpp"
#include "tests/fakes/cudart/memory.hpp"

using namespace fake_cuda;

namespace {

constexpr std::size_t page = 4096;

// The same memory at other addresses: as on a device, one that the user cannot touch, and ours.
block_ptr map(const ipc_message& told, int file) {
  const std::size_t first = told.offset / page * page;
  auto made = std::make_shared<block>();
  made->mapped = (told.offset + told.size - first + page - 1) / page * page;
  made->mapped_view =
      mmap(nullptr, made->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, off_t(first));
  made->mapped_user =
      mmap(nullptr, made->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made->mapped_view == MAP_FAILED || made->mapped_user == MAP_FAILED) {
    if (made->mapped_view != MAP_FAILED) munmap(made->mapped_view, made->mapped);
    if (made->mapped_user != MAP_FAILED) munmap(made->mapped_user, made->mapped);
    throw failure(cudaErrorMapBufferObjectFailed);
  }
  const std::size_t within = told.offset - first;
  made->kind = block_kind::imported;
  made->begin = reinterpret_cast<uintptr_t>(made->mapped_user) + within;
  made->view = static_cast<std::byte*>(made->mapped_view) + within;
  made->size = told.size;
  made->opened = 1;
  return made;
}

bool is_import_of(const block& given, const ipc_message& told, int current) {
  return given.kind == block_kind::imported && given.import_of == told.number &&
         given.import_process == told.process && given.opened_on == current;
}

}  // namespace

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* ptr) {
  return enter(__func__, [&](call& c) {
    need_context(c.m);
    require(handle != nullptr, "a null pointer");
    const block_ptr found = c.m.blocks.beginning_at(reinterpret_cast<uintptr_t>(ptr));
    require(found != nullptr && found->kind == block_kind::device,
            "not the beginning of memory of cudaMalloc");
    const device& of = *c.m.devices[std::size_t(found->device)];
    ipc_message told = make_message(shared_kind::memory, of.memory->file());
    told.offset = of.memory->offset(found->begin);
    told.size = found->size;
    told.device = of.described.uuid;
    told.number = found->number;
    *handle = as_handle<cudaIpcMemHandle_t>(told);
  });
}

cudaError_t cudaIpcOpenMemHandle(void** ptr, cudaIpcMemHandle_t handle, unsigned flags) {
  return enter(__func__, [&](call& c) {
    const device& current = need_context(c.m);
    refuse_unsafe(c);
    require(ptr != nullptr, "a null pointer");
    require(flags == cudaIpcMemLazyEnablePeerAccess,
            "flags have to be cudaIpcMemLazyEnablePeerAccess");
    const ipc_message told = read_handle(handle.reserved, shared_kind::memory);
    for (const auto& [begin, each] : c.m.blocks.all()) {
      if (!is_import_of(*each, told, current.index)) continue;
      ++each->opened;
      *ptr = reinterpret_cast<void*>(begin);
      return;
    }
    const int file = open_shared(told);
    const block_ptr made = [&] {
      try {
        const block_ptr mapped = map(told, file);
        close(file);
        return mapped;
      } catch (...) {
        close(file);
        throw;
      }
    }();
    made->device = current.index;
    for (const auto& each : c.m.devices) {
      if (each->described.uuid == told.device) made->device = each->index;
    }
    made->import_of = told.number;
    made->import_process = told.process;
    made->opened_on = current.index;
    made->made_by = c.entry_point;
    c.m.blocks.add(made);
    *ptr = reinterpret_cast<void*>(made->begin);
  });
}

cudaError_t cudaIpcCloseMemHandle(void* ptr) {
  return enter(__func__, entry::release, [&](call& c) {
    refuse_unsafe(c);
    require(ptr != nullptr, "a null pointer");
    const block_ptr closed = find_to_free(c.m, ptr, block_kind::imported);
    if (closed->opened > 1) {
      --closed->opened;
    } else {
      wait_until_unused(c.lock, c.m, closed, c.entry_point);
      drop(c.m, *closed);
    }
    need_context(c.m);
  });
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event_handle) {
  return enter(__func__, [&](call& c) {
    const event_ptr told = find_event(c, event_handle);
    require(handle != nullptr, "a null pointer");
    if (told->shared == nullptr || told->imported) {
      throw refusal(cudaErrorInvalidResourceHandle,
                    "not an event made here with cudaEventInterprocess");
    }
    ipc_message made = make_message(shared_kind::event, told->shared->file());
    made.device = c.m.devices[std::size_t(told->device)]->described.uuid;
    *handle = as_handle<cudaIpcEventHandle_t>(made);
  });
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* opened, cudaIpcEventHandle_t handle) {
  return enter(__func__, [&](call& c) {
    const device& current = need_context(c.m);
    require(opened != nullptr, "a null pointer");
    const ipc_message told = read_handle(handle.reserved, shared_kind::event);
    const int file = open_shared(told);
    auto made = std::make_shared<event>();
    made->shared = shared_event::open(file);
    close(file);
    if (made->shared == nullptr) throw failure(cudaErrorMapBufferObjectFailed);
    made->device = current.index;
    made->flags = cudaEventInterprocess | cudaEventDisableTiming;
    made->imported = true;
    made->recorded = true;  // perhaps, by the other process
    made->made_by = c.entry_point;
    *opened = c.m.events.add<cudaEvent_t>(std::move(made));
  });
}
