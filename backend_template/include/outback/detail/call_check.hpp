// Checks the arguments that no caller may pass to a slot, whatever the runtime is. The table of a
// class and validation both refuse such arguments, in the same words. Null pointers are not checked
// here: the role of an argument says whether it may be null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "outback/detail/slots.hpp"
#include "outback/runtime.h"
#include "outback/runtime_error.hpp"

namespace outback::detail {

/// Throws invalid_argument: "size is 0: expected a range that is not empty".
[[noreturn]] inline void refuse_argument(const char* name, uint64_t is,
                                         const std::string& expected) {
  throw invalid_argument(std::string(name) + " is " + std::to_string(is) + ": expected " +
                         expected);
}

// One overload for each slot that restricts its arguments. An overload takes all arguments of its
// slot.

inline void check_rule(slots::mem_copy, void*, int32_t dst_device, const void*, int32_t src_device,
                       std::size_t, outback_stream) {
  if (dst_device != OUTBACK_HOST || src_device != OUTBACK_HOST) return;
  throw invalid_argument(
      "src_device is the host, as dst_device is: expected a device on one side at least");
}
inline void check_rule(slots::mem_fill, int32_t, void*, std::size_t size, const void*,
                       std::size_t width, outback_stream) {
  if (width != 1 && width != 2 && width != 4 && width != 8) {
    refuse_argument("pattern_size", width, "1, 2, 4 or 8");
  }
  if (size % width == 0) return;
  refuse_argument("size", size, "a multiple of pattern_size, " + std::to_string(width));
}
inline void check_rule(slots::event_create, int32_t, uint32_t flags, outback_event*) {
  constexpr uint32_t known =
      OUTBACK_EVENT_TIMING | OUTBACK_EVENT_BLOCKING | OUTBACK_EVENT_INTERPROCESS;
  constexpr uint32_t never_together = OUTBACK_EVENT_TIMING | OUTBACK_EVENT_INTERPROCESS;
  if ((flags & ~known) == 0 && (flags & never_together) != never_together) return;
  refuse_argument("flags", flags,
                  "a sum of OUTBACK_EVENT_TIMING, _BLOCKING and _INTERPROCESS, and not both "
                  "_TIMING and _INTERPROCESS");
}
inline void check_rule(slots::host_register, void*, std::size_t size) {
  if (size == 0) refuse_argument("size", size, "a range that is not empty");
}
// can_access has no such rule: it only asks, and may name one device twice.
inline void check_rule(slots::peer_enable, int32_t device, int32_t peer) {
  if (device == peer) refuse_argument("peer", uint64_t(peer), "another device than `device`");
}
inline void check_rule(slots::peer_disable, int32_t device, int32_t peer) {
  check_rule(slots::peer_enable(), device, peer);
}

// Unlike other structs, a handle must have its whole size, because a part of a handle is useless.
inline void check_handle(const outback_ipc_handle& handle) {
  if (handle.struct_size >= sizeof(handle)) return;
  refuse_argument("handle->struct_size", handle.struct_size,
                  "the size of the whole struct, " + std::to_string(sizeof(handle)));
}
// A handle that the caller passes in comes from another process and may hold anything. After this
// check a runtime may read `size` bytes without checking again.
inline void check_given_handle(const outback_ipc_handle& handle) {
  check_handle(handle);
  if (handle.size <= sizeof(handle.bytes)) return;
  refuse_argument("handle->size", handle.size, "at most " + std::to_string(sizeof(handle.bytes)));
}
inline void check_rule(slots::ipc_get_memory, int32_t, void*, outback_ipc_handle* handle) {
  check_handle(*handle);
}
inline void check_rule(slots::ipc_get_event, int32_t, outback_event, outback_ipc_handle* handle) {
  check_handle(*handle);
}
inline void check_rule(slots::ipc_open_memory, int32_t, const outback_ipc_handle* handle, void**) {
  check_given_handle(*handle);
}
inline void check_rule(slots::ipc_open_event, int32_t, const outback_ipc_handle* handle,
                       outback_event*) {
  check_given_handle(*handle);
}

// A record can be read only once, so the caller must have room for a whole struct of records.
inline void check_rule(slots::activity_read, int32_t, outback_records* records) {
  if (records->struct_size >= sizeof(*records)) return;
  refuse_argument("records->struct_size", records->struct_size,
                  "the size of the whole struct, " + std::to_string(sizeof(*records)));
}

inline void check_rule(slots::module_load, int32_t, outback_format, const void*, std::size_t size,
                       outback_module*) {
  if (size == 0) refuse_argument("size", size, "the bytes of a module");
}

inline void check_kernel_argument(const outback_argument& argument, uint32_t number) {
  const std::string name = "arguments[" + std::to_string(number) + "].";
  if (argument.value == nullptr) throw invalid_argument(name + "value is null");
  if (argument.is_memory > 1) {
    refuse_argument((name + "is_memory").c_str(), argument.is_memory, "0 or 1");
  }
  const bool fits = argument.is_memory == 0 ? argument.size != 0 : argument.size == sizeof(void*);
  if (fits) return;
  refuse_argument((name + "size").c_str(), argument.size,
                  argument.is_memory == 0
                      ? "at least 1"
                      : "the size of a pointer, " + std::to_string(sizeof(void*)));
}
inline void check_rule(slots::kernel_launch, int32_t, outback_kernel, const outback_launch* launch,
                       outback_stream) {
  if (launch->struct_size < sizeof(*launch)) {
    refuse_argument("launch->struct_size", launch->struct_size,
                    "the size of the whole struct, " + std::to_string(sizeof(*launch)));
  }
  if (launch->argument_count != 0 && launch->arguments == nullptr) {
    throw invalid_argument("launch->arguments is null, and argument_count is " +
                           std::to_string(launch->argument_count));
  }
  for (uint32_t i = 0; i < launch->argument_count; ++i) {
    check_kernel_argument(launch->arguments[i], i);
  }
  uint64_t items = 1;
  for (const uint32_t count : launch->items) {
    if (count == 0) refuse_argument("launch->items", count, "at least 1 item in each dimension");
    if (items * count > UINT32_MAX) {
      refuse_argument("launch->items", items * count, "fewer items in a group");
    }
    items *= count;
  }
}

/// Throws invalid_argument if the arguments break a rule of the slot. Pointers that must not be
/// null by their role have been checked already.
template <class Slot, class... Args>
void check_call(Slot slot, const Args&... args) {
  if constexpr (requires { check_rule(slot, args...); }) check_rule(slot, args...);
}

}  // namespace outback::detail
