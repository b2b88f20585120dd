// The ipc slots of the CUDA runtime: memory and events that processes share.
#include <cstring>
#include <memory>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/cuda/current.hpp"
#include "backend_template/runtimes/this_process.hpp"

namespace outback::cuda {
namespace {

// The numbers are "mem1" and "evt1", so that other bytes are hardly taken for a handle.
enum class shared_kind : uint32_t { memory = 0x6d656d31, event = 0x65767431 };

// What outback_ipc_handle::bytes holds.
struct shared_bytes {
  uint64_t process;  // this_process() of the maker
  shared_kind kind;
  uint32_t reserved;
  uint8_t device[16];
  char handle[CUDA_IPC_HANDLE_SIZE];  // CUDA's own, of memory or of an event
};
static_assert(sizeof(shared_bytes) <= sizeof(outback_ipc_handle::bytes));
static_assert(sizeof(cudaIpcMemHandle_t) == CUDA_IPC_HANDLE_SIZE);
static_assert(sizeof(cudaIpcEventHandle_t) == CUDA_IPC_HANDLE_SIZE);

template <class Handle>
outback_ipc_handle packed(shared_kind kind, const device& d, const Handle& native) {
  shared_bytes bytes = {
      .process = this_process(), .kind = kind, .reserved = 0, .device = {}, .handle = {}};
  std::memcpy(bytes.device, d.uuid().bytes, sizeof(bytes.device));
  std::memcpy(bytes.handle, &native, sizeof(bytes.handle));
  outback_ipc_handle handle = {};
  handle.size = sizeof(bytes);
  handle.fd = -1;
  std::memcpy(handle.bytes, &bytes, sizeof(bytes));
  return handle;
}

template <class Handle>
Handle unpacked(shared_kind kind, const device& d, const outback_ipc_handle& handle) {
  shared_bytes bytes;
  const char* what = kind == shared_kind::memory ? "memory" : "an event";
  std::memcpy(&bytes, handle.bytes, sizeof(bytes));
  if (handle.size != sizeof(bytes) || bytes.kind != kind) {
    throw invalid_argument(std::string("the handle is none of ") + what +
                           " that this runtime made: all of its bytes have to arrive");
  }
  // The contract refuses a process's own handles, whatever CUDA would say to them.
  if (bytes.process == this_process()) {
    throw invalid_argument("the handle was made by this process, which has what it stands for");
  }
  // By UUID, because the two processes may number their devices differently.
  if (std::memcmp(bytes.device, d.uuid().bytes, sizeof(bytes.device)) != 0) {
    throw invalid_argument(std::string("the handle is of ") + what +
                           " on another device than device " + std::to_string(d.index()) +
                           " of this process, " + d.uuid_text());
  }
  Handle native;
  std::memcpy(&native, bytes.handle, sizeof(native));
  return native;
}

}  // namespace

outback_ipc_handle cuda_runtime::ipc_get_memory(int32_t index, void* ptr) {
  device& d = at(index);
  const beside_captures here(d);
  pointer_attributes attributes = {};
  d.call(d.cuda().cudaPointerGetAttributes, &attributes.known, static_cast<const void*>(ptr));
  CUdeviceptr base = 0;
  std::size_t size = 0;
  if (attributes.known.type == cudaMemoryTypeDevice && attributes.known.device == index) {
    d.call(d.driver().cuMemGetAddressRange, &base, &size, reinterpret_cast<CUdeviceptr>(ptr));
  }
  // CUDA's handle stands for the whole allocation: for a pointer inside of one, the other process
  // would get its beginning.
  if (ptr == nullptr || base != reinterpret_cast<CUdeviceptr>(ptr)) {
    throw invalid_argument("the pointer is not what mem_alloc answered for device " +
                           std::to_string(index));
  }
  cudaIpcMemHandle_t native = {};
  d.call(d.cuda().cudaIpcGetMemHandle, &native, ptr);
  return packed(shared_kind::memory, d, native);
}

void* cuda_runtime::ipc_open_memory(int32_t index, const outback_ipc_handle& handle) {
  device& d = at(index);
  const auto native = unpacked<cudaIpcMemHandle_t>(shared_kind::memory, d, handle);
  const beside_captures here(d);
  void* ptr = nullptr;
  d.call(d.cuda().cudaIpcOpenMemHandle, &ptr, native, unsigned{cudaIpcMemLazyEnablePeerAccess});
  return ptr;
}

void cuda_runtime::ipc_close_memory(int32_t index, void* ptr) {
  device& d = at(index);
  const beside_captures here(d);
  d.call(d.cuda().cudaIpcCloseMemHandle, ptr);
}

outback_ipc_handle cuda_runtime::ipc_get_event(int32_t index, outback_event handle) {
  device& d = at(index);
  const event& e = event_at(d, handle);
  if ((e.flags & OUTBACK_EVENT_INTERPROCESS) == 0) {
    throw invalid_argument("the event was created without OUTBACK_EVENT_INTERPROCESS");
  }
  const on_device here(d);
  cudaIpcEventHandle_t native = {};
  d.call(d.cuda().cudaIpcGetEventHandle, &native, e.handle);
  return packed(shared_kind::event, d, native);
}

outback_event cuda_runtime::ipc_open_event(int32_t index, const outback_ipc_handle& handle) {
  device& d = at(index);
  const auto native = unpacked<cudaIpcEventHandle_t>(shared_kind::event, d, handle);
  const beside_captures here(d);
  auto e = std::make_unique<event>(
      event{.of = &d, .handle = nullptr, .flags = OUTBACK_EVENT_INTERPROCESS});
  d.call(d.cuda().cudaIpcOpenEventHandle, &e->handle, native);
  return reinterpret_cast<outback_event>(e.release());
}

}  // namespace outback::cuda
