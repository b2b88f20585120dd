// What IPC handles say, and what another process finds behind them.
//
// A handle names a descriptor of the process that made it, /proc/<pid>/fd/<n>; so both have to be
// processes of one user, and the one that made it has to be alive.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tests/fakes/cudart/cuda_api.hpp"

namespace fake_cuda {

enum class shared_kind : uint32_t { memory = 1, event = 2 };

struct ipc_message {
  std::array<char, 4> magic = {'f', 'c', 'u', 'd'};
  shared_kind kind = shared_kind::memory;
  int32_t process = 0;
  int32_t file = -1;
  uint64_t inode = 0;   // of the file, in case that the process is another one by now
  uint64_t offset = 0;  // of memory, in the file
  uint64_t size = 0;
  std::array<uint8_t, 16> device = {};  // UUID
  uint64_t number = 0;                  // of the allocation, in its process
};
static_assert(sizeof(ipc_message) <= CUDA_IPC_HANDLE_SIZE);

ipc_message make_message(shared_kind kind, int file);
template <class Handle>
Handle as_handle(const ipc_message& told) {
  Handle made = {};
  static_assert(sizeof(made.reserved) == CUDA_IPC_HANDLE_SIZE);
  __builtin_memcpy(made.reserved, &told, sizeof(told));
  return made;
}

/// Throws cudaErrorInvalidValue for bytes that are no such handle, cudaErrorDeviceUninitialized in
/// the process that made it (what real drivers answer: "invalid device context").
ipc_message read_handle(const char* bytes, shared_kind kind);
/// A descriptor of the caller's own. Throws cudaErrorMapBufferObjectFailed if what was shared is
/// gone.
int open_shared(const ipc_message& told);

}  // namespace fake_cuda
