// What is in the 64 bytes of an IPC handle. As in Intel's driver under Linux the first four are a
// file descriptor, which means nothing in another process: whoever passes the handle on passes the
// descriptor too, and puts the number that it has there into the handle.
#pragma once

#include <level_zero/ze_api.h>

#include <cstdint>
#include <cstring>

#include "tests/fakes/level_zero/violations.hpp"

namespace outback::software_ze {

struct ipc_handle {
  int32_t file;
  uint32_t magic;
  uint64_t offset, size, room;           // of memory, bytes
  uint32_t count, flags, counter_based;  // of an event pool

  static constexpr uint32_t memory_magic = 0x6d656d31, pool_magic = 0x706f6f31;
};

template <class Handle>
void write_ipc(const ipc_handle& from, Handle& into) {
  static_assert(sizeof(ipc_handle) <= sizeof into.data);
  std::memset(into.data, 0, sizeof into.data);
  std::memcpy(into.data, &from, sizeof from);
}

/// Reports a violation, and throws, for bytes that are no handle of this sort.
template <class Handle>
ipc_handle read_ipc(const Handle& from, uint32_t magic) {
  ipc_handle read;
  std::memcpy(&read, from.data, sizeof read);
  if (read.magic != magic) refuse_violation("these bytes are no IPC handle of this driver");
  return read;
}

}  // namespace outback::software_ze
