// Checks whether the outputs of a slot that returned OUTBACK_OK can be true. Read this if you call
// a table that somebody else compiled, as the torch half, the validation layer and the runtime
// suite do. No torch.
//
// Each check returns "" if the outputs can be true. Otherwise it returns the end of a sentence that
// begins with "the runtime is wrong: it". The functions call no slot, do not access the memory that
// an output names, may be called from any thread, and throw only std::bad_alloc.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "outback/detail/utf8.hpp"
#include "outback/runtime.h"

namespace outback {

/// In bytes: the smallest outback_device_info.alignment that the contract allows, and the smallest
/// alignment of pinned memory.
inline constexpr uint32_t least_alignment = 64;

/// Returns `text`, which last_error returned, with U+FFFD in place of each byte that is not part of
/// valid UTF-8, so that Python accepts the text.
inline std::string as_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = detail::take_bytes(text);
    valid += character.empty() ? "\xef\xbf\xbd" : character;
  }
  return valid;
}

namespace detail {

/// Returns the number as "0x1f".
inline std::string hex_text(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

/// Checks a text in a struct that the runtime filled: the text must end within `field` and must be
/// UTF-8. `name` is the member's name for the message. The message itself is valid UTF-8.
template <std::size_t N>
std::string text_problem(const char* name, const char (&field)[N]) {
  if (std::memchr(field, 0, N) == nullptr) {
    return "left " + std::string(name) + " without an end: expected a null character within " +
           std::to_string(N) + " bytes";
  }
  return as_utf8(field) == field
             ? ""
             : "made " + std::string(name) + " \"" + printable(field) + "\": expected UTF-8";
}

}  // namespace detail

/// Checks the number of devices that `device_count` wrote. `before` is the number from an earlier
/// call, or -1 if this is the first call: the number must not change as long as the process runs.
inline std::string device_count_problem(int32_t count, int32_t before = -1) {
  // 0 is valid: the machine has no such device.
  if (count < 0) return "counted " + std::to_string(count) + " devices";
  if (before < 0 || count == before) return "";
  return "counted " + std::to_string(count) + " devices, and " + std::to_string(before) +
         " before: their number stays as long as the process runs";
}

/// Checks the properties that `device_info` wrote. `info` must have the size that this header
/// knows. Before the call all its members but struct_size must have been zero.
inline std::string device_info_problem(const outback_device_info& info) {
  // If the runtime wrote nothing, the caller's zeros are still there. Some of these members may be
  // 0, but never all of them.
  const bool is_blank = info.flags == 0 && info.memory_size == 0 && info.max_alloc_size == 0 &&
                        info.alignment == 0 && info.name[0] == '\0';
  if (is_blank) return "answered ok and wrote nothing to *info";
  if (info.memory_size == 0) return "made memory_size 0: expected the bytes that the device has";
  if (info.max_alloc_size == 0 || info.max_alloc_size > info.memory_size) {
    return "made max_alloc_size " + std::to_string(info.max_alloc_size) +
           ": expected 1 to memory_size, which is " + std::to_string(info.memory_size);
  }
  if (info.alignment < least_alignment || (info.alignment & (info.alignment - 1)) != 0) {
    return "made alignment " + std::to_string(info.alignment) +
           ": expected a power of two, at least " + std::to_string(least_alignment);
  }
  if (info.kernels_of < 0) {
    return "made kernels_of " + std::to_string(info.kernels_of) +
           ": expected a DLPack device type, or 0 for none";
  }
  constexpr int32_t dlpack_cpu = 1;  // kDLCPU
  if (info.kernels_of == dlpack_cpu && (info.flags & OUTBACK_HOST_ADDRESSABLE) == 0) {
    return "made kernels_of 1, the CPU, and flags " + detail::hex_text(info.flags) +
           ": expected OUTBACK_HOST_ADDRESSABLE among them, since the CPU's kernels need memory "
           "that the CPU reaches";
  }
  if (std::string problem = detail::text_problem("name", info.name); !problem.empty()) {
    return problem;
  }
  return detail::text_problem("pci_id", info.pci_id);
}

/// Checks the pointer that `mem_alloc` or `host_memory.alloc` wrote for `size` bytes. `size` must
/// not be 0, and `alignment` is in bytes and not 0. The memory is not accessed.
inline std::string memory_problem(const void* ptr, std::size_t size, std::size_t alignment) {
  // Null is valid only for zero bytes: if the device is full, the slot must fail.
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  if (ptr == nullptr) return "answered ok and made *ptr null: expected memory";
  if (address % alignment != 0) {
    return "answered " + detail::hex_text(address) + ": expected a multiple of " +
           std::to_string(alignment) + ", the alignment";
  }
  // Without this check, address + size could overflow in the caller's arithmetic.
  if (size - 1 > UINTPTR_MAX - address) {
    return "answered " + detail::hex_text(address) + ": the addresses that there are end before " +
           std::to_string(size) + " bytes from there on do";
  }
  return "";
}

/// Checks that the CPU can access all `size` bytes at `ptr`, which have passed `memory_problem`:
/// they must be mapped in this process. Asks the operating system's kernel.
inline std::string reach_problem(const void* ptr, std::size_t size) {
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = address / page * page;
  const int kept = errno;
  // MS_ASYNC has no effect on mapped memory, and the call does not wait. It fails with ENOMEM if a
  // page is not mapped.
  auto* const first = reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr)
  const bool is_there = msync(first, address - begin + size, MS_ASYNC) == 0 || errno != ENOMEM;
  errno = kept;
  return is_there ? ""
                  : "answered " + detail::hex_text(address) + ": expected memory that the CPU " +
                        "reaches, and not all of " + std::to_string(size) +
                        " bytes from there on are this process's";
}

/// Checks the facts that `host_memory.info` wrote about `ptr`. `info` must have all members that
/// this header knows, and `devices` is the number of devices.
inline std::string pointer_info_problem(const outback_pointer_info& info, const void* ptr,
                                        int32_t devices) {
  if (info.device < OUTBACK_HOST || info.device >= devices) {
    return "made device " + std::to_string(info.device) + ": expected " +
           std::to_string(OUTBACK_HOST) + " for the host, or one of " + std::to_string(devices) +
           " devices";
  }
  if (info.pinned != 0 && info.pinned != 1) {
    return "made pinned " + std::to_string(info.pinned) + ": expected 0 or 1";
  }
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  const auto base = reinterpret_cast<uintptr_t>(info.base);
  const bool is_unknown = base == 0 && info.size == 0;
  if (is_unknown || (base != 0 && base <= address && address - base < info.size)) return "";
  return "made base " + detail::hex_text(base) + " and size " + std::to_string(info.size) + " of " +
         detail::hex_text(address) + ": expected an allocation that holds it, or null " + "and 0";
}

/// Checks the formats that `kernels.formats` wrote. `formats` must be a whole struct.
inline std::string formats_problem(const outback_formats& formats) {
  constexpr std::size_t room = std::extent_v<decltype(formats.list)>;
  if (formats.count == 0 || formats.count > room) {
    return "made count " + std::to_string(formats.count) + ": expected 1 to " +
           std::to_string(room);
  }
  return detail::text_problem("target", formats.target);
}

/// Checks the records that `activity.read` wrote. `records` must be a whole struct.
inline std::string records_problem(const outback_records& records) {
  constexpr std::size_t room = std::extent_v<decltype(records.list)>;
  if (records.count > room) {
    return "made count " + std::to_string(records.count) + ": expected at most " +
           std::to_string(room);
  }
  for (uint32_t i = 0; i < records.count; ++i) {
    const outback_record& each = records.list[i];
    const std::string where = "list[" + std::to_string(i) + "].";
    if (each.kind < OUTBACK_RECORD_KERNEL) {
      return "made " + where + "kind " + std::to_string(each.kind) +
             ": expected OUTBACK_RECORD_KERNEL or another kind";
    }
    if (each.begin > each.end) {
      return "made " + where + "begin " + std::to_string(each.begin) + " and end " +
             std::to_string(each.end) + ": expected begin <= end";
    }
  }
  return "";
}

}  // namespace outback
