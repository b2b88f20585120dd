#include "tests/fakes/cudart/fat_binary.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "tests/fakes/cudart/decompress.hpp"

// None of this is documented. It is what nvcc 12 and 13 write, and was read from their output.

namespace fake_cuda {
namespace {

using bytes = std::span<const std::byte>;

struct wrapper_layout {  // __fatBinC_Wrapper_t of fatbinary_section.h
  int magic, version;
  const std::byte* data;
  void* other;
};

struct container_header {
  uint32_t magic;
  uint16_t version, header_size;
  uint64_t size;  // of all images
};
constexpr uint32_t container_magic = 0xba55ed50;

struct image_header {
  uint16_t kind, version;
  uint32_t header_size;
  uint64_t size;  // of the image with what fills it up
  uint32_t packed, unknown;
  uint16_t minor, major;
  uint32_t architecture, name_offset, name_size;
  uint64_t flags, reserved, unpacked;
};
constexpr uint16_t elf_image = 2;
constexpr uint64_t lz4_flag = 0x2000, zstd_flag = 0x8000;

template <class T>
std::optional<T> read(bytes from, std::size_t offset) {
  T made;
  if (offset > from.size() || from.size() - offset < sizeof(T)) return std::nullopt;
  std::memcpy(&made, from.data() + offset, sizeof(T));
  return made;
}

bytes part(bytes of, std::size_t offset, std::size_t size) {
  return offset > of.size() ? bytes() : of.subspan(offset, std::min(size, of.size() - offset));
}

// Attributes of a kernel: a format, a number, and a value or the size of one. One for each
// parameter has its index, its place, its offset and its size; kernels with more than 4 KiB of
// parameters have attributes with room for larger sizes.
std::vector<parameter> read_info(bytes info) {
  constexpr uint8_t sized = 4, parameter_info = 0x17, large_parameter_info = 0x45;
  std::map<uint16_t, parameter> found;
  for (std::size_t at = 0; at + 4 <= info.size();) {
    const auto format = uint8_t(info[at]), number = uint8_t(info[at + 1]);
    const uint16_t size = *read<uint16_t>(info, at + 2);
    at += 4;
    if (format != sized) continue;
    const auto ordinal = read<uint16_t>(info, at + 4), offset = read<uint16_t>(info, at + 6);
    const auto last = read<uint32_t>(info, at + 8);
    if (size == 12 && last && (number == parameter_info || number == large_parameter_info)) {
      found[*ordinal] = {.offset = *offset, .size = number == parameter_info ? *last >> 18 : *last};
    }
    at += size;
  }
  std::vector<parameter> all;
  for (const auto& [ordinal, each] : found) all.push_back(each);
  return all;
}

void read_elf(bytes image, parameter_table& to) {
  const auto header = read<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
  const auto section = [&](std::size_t index) {
    return read<Elf64_Shdr>(image, header->e_shoff + index * header->e_shentsize);
  };
  const auto names = section(header->e_shstrndx);
  if (!names) return;
  const bytes texts = part(image, names->sh_offset, names->sh_size);
  for (std::size_t i = 0; i < header->e_shnum; ++i) {
    const auto each = section(i);
    if (!each || each->sh_name >= texts.size()) continue;
    const bytes rest = texts.subspan(each->sh_name);
    const auto end = std::find(rest.begin(), rest.end(), std::byte(0));
    const std::string_view name(reinterpret_cast<const char*>(rest.data()),
                                std::size_t(end - rest.begin()));
    constexpr std::string_view prefix = ".nv.info.";
    if (!name.starts_with(prefix)) continue;
    to.emplace(name.substr(prefix.size()), read_info(part(image, each->sh_offset, each->sh_size)));
  }
}

// Images are read as kernels are asked for: one for another architecture has the same parameters.
class container {
 public:
  explicit container(const std::byte* data) {
    container_header header;
    std::memcpy(&header, data, sizeof(header));
    if (header.magic == container_magic) rest_ = bytes(data + header.header_size, header.size);
  }

  std::optional<std::vector<parameter>> find(const std::string& symbol) {
    for (;;) {
      const auto found = known_.find(symbol);
      if (found != known_.end()) return found->second;
      if (!read_next()) return std::nullopt;
    }
  }

 private:
  bool read_next() {
    const auto next = read<image_header>(rest_, 0);
    if (!next) return false;
    const bytes image = part(rest_, next->header_size, next->size);
    rest_ = rest_.subspan(std::min<std::size_t>(rest_.size(), next->header_size + next->size));
    if (next->kind != elf_image) return true;
    if ((next->flags & (lz4_flag | zstd_flag)) == 0) {
      read_elf(image, known_);
      return true;
    }
    const bytes packed = part(image, 0, next->packed);
    const auto unpacked = (next->flags & zstd_flag) != 0 ? from_zstd(packed, next->unpacked)
                                                         : from_lz4(packed, next->unpacked);
    if (unpacked) read_elf(*unpacked, known_);
    return true;
  }

  bytes rest_;
  parameter_table known_;
};

}  // namespace

parameter_table parameters_of_image(const void* image) {
  parameter_table made;
  if (std::memcmp(image, ELFMAG, SELFMAG) != 0) return made;
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  // Its sections' headers are the last that is in it, or programs' are.
  const std::size_t size =
      std::max<std::size_t>(header.e_shoff + std::size_t(header.e_shnum) * header.e_shentsize,
                            header.e_phoff + std::size_t(header.e_phnum) * header.e_phentsize);
  read_elf(bytes(static_cast<const std::byte*>(image), size), made);
  return made;
}

std::optional<std::vector<parameter>> parameters_in(const void* wrapper,
                                                    const std::string& symbol) {
  static auto& all = *new std::map<const void*, container>;
  if (wrapper == nullptr) return std::nullopt;
  const std::byte* const data = static_cast<const wrapper_layout*>(wrapper)->data;
  return all.try_emplace(data, data).first->second.find(symbol);
}

}  // namespace fake_cuda
