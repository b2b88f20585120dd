// An image with one kernel, "twice", as compilers write it: for tests.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace fake_cuda {

template <class T>
void append(std::vector<std::byte>& to, const T& value) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof(T));
}

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

inline void append_parameter(std::vector<std::byte>& to, uint16_t ordinal, uint16_t offset,
                             uint32_t size, bool large = false) {
  append(to, uint16_t(large ? 0x4504 : 0x1704));
  append(to, uint16_t(12));
  append(to, uint32_t(0));
  append(to, ordinal);
  append(to, offset);
  append(to, large ? size : size << 18 | 0x1f000);
}

// Two sections: the names of sections, and what is known of the kernel "twice".
inline std::vector<std::byte> image() {
  const std::vector<std::byte> names = bytes_of(std::string_view("\0.nv.info.twice\0", 16));
  std::vector<std::byte> info;
  append(info, uint32_t(0x00013701));  // one whose value is in its head
  append_parameter(info, 1, 8, 4);     // the last parameter comes first
  append_parameter(info, 0, 0, 8);
  append_parameter(info, 2, 12, 20000, true);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_machine = 190;  // EM_CUDA
  header.e_shoff = sizeof(header) + names.size() + info.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  Elf64_Shdr of_names = {}, of_info = {};
  of_names.sh_offset = sizeof(header);
  of_names.sh_size = names.size();
  of_info.sh_name = 1;
  of_info.sh_offset = sizeof(header) + names.size();
  of_info.sh_size = info.size();
  std::vector<std::byte> made;
  append(made, header);
  made.insert(made.end(), names.begin(), names.end());
  made.insert(made.end(), info.begin(), info.end());
  append(made, of_names);
  append(made, of_info);
  return made;
}

}  // namespace fake_cuda
