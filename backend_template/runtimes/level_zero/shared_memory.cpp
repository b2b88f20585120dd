#include "backend_template/runtimes/level_zero/shared_memory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "backend_template/runtimes/level_zero/result.hpp"
#include "backend_template/runtimes/this_process.hpp"
#include "outback/runtime_error.hpp"

namespace outback::level_zero {
namespace {

constexpr char memory_handle_kind[8] = {'o', 'b', 'z', 'e', 'm', 'e', 'm', '1'};

/// What `outback_ipc_handle.bytes` holds. On Linux the driver's handle begins with a descriptor,
/// whose number means nothing in another process: the descriptor travels as the handle's `fd`.
struct memory_handle {
  char kind[8];
  uint64_t process;  // this_process() of the maker
  uint64_t serial;   // of the allocation in that process
  ze_ipc_mem_handle_t driver;
};
static_assert(sizeof(memory_handle) <= sizeof(outback_ipc_handle::bytes));

// The descriptor that the driver wrote into its handle.
int descriptor_in(const ze_ipc_mem_handle_t& handle) {
  int fd = -1;
  std::memcpy(&fd, handle.data, sizeof(fd));
  return fd;
}

int duplicate(int fd) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    throw runtime_error(OUTBACK_INTERNAL,
                        std::string("the descriptor of shared memory: ") + std::strerror(errno));
  }
  return copy;
}

}  // namespace

outback_ipc_handle shared_memory::share(device& owner, const allocation& of) {
  const driver_api& api = owner.of().api();
  memory_handle inner = {};
  std::memcpy(inner.kind, memory_handle_kind, sizeof(inner.kind));
  inner.process = this_process();
  inner.serial = of.serial;
  const std::lock_guard lock(mutex_);  // the driver has one descriptor for an allocation
  call(api.zeMemGetIpcHandle, owner.context(), of.base, &inner.driver);
  outback_ipc_handle made = {};
  made.struct_size = sizeof(made);
  made.size = sizeof(inner);
  std::memcpy(made.bytes, &inner, sizeof(inner));
  // A duplicate, because the driver keeps its own descriptor.
  made.fd = duplicate(descriptor_in(inner.driver));
  // Before API 1.6 nothing gives the descriptor back; it goes when the memory is freed.
  if (owner.of().puts_handles()) api.zeMemPutIpcHandle(owner.context(), inner.driver);
  return made;
}

void* shared_memory::open(device& there, const outback_ipc_handle& handle) {
  memory_handle inner = {};
  struct stat file = {};
  std::memcpy(&inner, handle.bytes, sizeof(inner));
  if (handle.size != sizeof(inner) ||
      std::memcmp(inner.kind, memory_handle_kind, sizeof(inner.kind)) != 0 || handle.fd < 0 ||
      fstat(handle.fd, &file) != 0) {
    throw invalid_argument(
        "the handle is not of memory of this runtime, or its descriptor did not come with it");
  }
  // The contract refuses a process's own handles, whatever the driver would say to them.
  if (inner.process == this_process()) {
    throw invalid_argument("the handle is of this process's own memory, which needs no opening");
  }
  return opened_.open({inner.process, inner.serial}, there.index(), [&] {
    // The number that the descriptor has in this process takes the place of the other process's.
    std::memcpy(inner.driver.data, &handle.fd, sizeof(handle.fd));
    void* base = nullptr;
    call(there.of().api().zeMemOpenIpcHandle, there.context(), there.handle(), inner.driver, 0,
         &base);
    return base;
  });
}

void shared_memory::close(device& there, void* ptr) {
  opened_.close(ptr, there.index(),
                [&] { call(there.of().api().zeMemCloseIpcHandle, there.context(), ptr); });
}

}  // namespace outback::level_zero
