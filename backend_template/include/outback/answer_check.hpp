// What a runtime answered: can it be true? For whoever calls a table that somebody else compiled.
// No torch.
//
// Each function answers "" for what may be true, and otherwise the end of a sentence that begins
// with "the runtime is wrong: it". None touches the memory that an answer names.
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

#include "outback/detail/utf8.hpp"
#include "outback/runtime.h"

namespace outback {

/// The least that outback_device_info.alignment may be, and what pinned memory is aligned to.
inline constexpr uint32_t least_alignment = 64;

namespace detail {

/// How many bytes of `text`, which is not empty, are its first character; 0 where that is no UTF-8.
inline std::size_t utf8_character(std::string_view text) {
  std::string_view rest = text;
  const uint32_t character = take_character(rest);
  const std::size_t size = text.size() - rest.size();
  return character == no_character && size == 1 ? 0 : size;
}

inline std::string hex_text(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

/// `field` is an array of characters in a struct that the runtime filled.
template <std::size_t N>
std::string text_problem(const char* name, const char (&field)[N]) {
  if (std::memchr(field, 0, N) == nullptr) {
    return "left " + std::string(name) + " without an end: expected a null character within " +
           std::to_string(N) + " bytes";
  }
  std::string shown;
  bool valid = true;
  for (std::string_view rest = field; !rest.empty();) {
    const std::size_t size = utf8_character(rest);
    if (size != 0) {
      shown += rest.substr(0, size);
    } else {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<unsigned char>(rest[0]));
      shown += escaped;
      valid = false;
    }
    rest.remove_prefix(size == 0 ? 1 : size);
  }
  return valid ? "" : "made " + std::string(name) + " \"" + shown + "\": expected UTF-8";
}

}  // namespace detail

/// `text` with U+FFFD in place of each byte that is no part of UTF-8: what Python takes.
inline std::string as_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t size = detail::utf8_character(text);
    if (size == 0) {
      valid += "\xef\xbf\xbd";
    } else {
      valid += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return valid;
}

/// What `device_count` answered; `before`, what it answered another time, or -1.
inline std::string device_count_problem(int32_t count, int32_t before = -1) {
  if (count < 0) return "counted " + std::to_string(count) + " devices";
  if (before < 0 || count == before) return "";
  return "counted " + std::to_string(count) + " devices, and " + std::to_string(before) +
         " before: their number stays as long as the process runs";
}

/// What `device_info` answered, in a whole struct that was zero but for its struct_size.
inline std::string device_info_problem(const outback_device_info& info) {
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
  constexpr int32_t dlpack_cpu = 1;
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

/// What `mem_alloc` or `host_memory.alloc` answered for `size` bytes, more than none.
inline std::string memory_problem(const void* ptr, std::size_t size, std::size_t alignment) {
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  if (ptr == nullptr) return "answered ok and made *ptr null: expected memory";
  if (address % alignment != 0) {
    return "answered " + detail::hex_text(address) + ": expected a multiple of " +
           std::to_string(alignment) + ", the alignment";
  }
  if (size - 1 > UINTPTR_MAX - address) {
    return "answered " + detail::hex_text(address) + ": the addresses that there are end before " +
           std::to_string(size) + " bytes from there on do";
  }
  return "";
}

/// The same of memory that the CPU is to reach, with no problem of the others: is there any? Asks
/// the kernel.
inline std::string reach_problem(const void* ptr, std::size_t size) {
  const auto address = reinterpret_cast<uintptr_t>(ptr);
  const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = address / page * page;
  const int kept = errno;
  // What has no file behind it stays as it is, and so does the rest: nobody is to wait for it.
  const bool is_there =
      msync(reinterpret_cast<void*>(begin), address - begin + size, MS_ASYNC) == 0 ||
      errno != ENOMEM;
  errno = kept;
  return is_there ? ""
                  : "answered " + detail::hex_text(address) + ": expected memory that the CPU " +
                        "reaches, and not all of " + std::to_string(size) +
                        " bytes from there on are this process's";
}

/// What `host_memory.info` answered of `ptr`, in a whole struct; `devices`: how many there are.
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

}  // namespace outback
