#include "backend_template/runtimes/cuda/image.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "outback/runtime_error.hpp"

namespace outback::cuda {
namespace {

// The head of a fatbin, which has images for several targets: struct fatBinaryHeader in CUDA's
// fatbinary_section.h.
struct fatbin_head {
  uint32_t magic;
  uint16_t version, head_size;
  uint64_t size;  // of all images
};
constexpr uint32_t fatbin_magic = 0xba55ed50;

template <class T>
bool read(std::string_view bytes, T& head) {
  if (bytes.size() < sizeof(head)) return false;
  std::memcpy(&head, bytes.data(), sizeof(head));
  return true;
}

bool is_elf(std::string_view bytes) {
  return bytes.substr(0, SELFMAG) == ELFMAG;
}

bool is_fatbin(std::string_view bytes) {
  uint32_t magic = 0;
  return read(bytes, magic) && magic == fatbin_magic;
}

bool is_inside(std::string_view bytes, uint64_t begin, uint64_t size) {
  return begin <= bytes.size() && size <= bytes.size() - begin;
}

// Whether the tables of the ELF file are all there, and the contents of its sections too.
bool is_whole_elf(std::string_view bytes) {
  Elf64_Ehdr head;
  if (!read(bytes, head) || head.e_ident[EI_CLASS] != ELFCLASS64) return false;
  if (!is_inside(bytes, head.e_phoff, uint64_t(head.e_phnum) * head.e_phentsize)) return false;
  if (head.e_shentsize != sizeof(Elf64_Shdr)) return head.e_shnum == 0;
  if (!is_inside(bytes, head.e_shoff, uint64_t(head.e_shnum) * head.e_shentsize)) return false;
  for (std::size_t i = 0; i < head.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes.data() + head.e_shoff + i * sizeof(section), sizeof(section));
    // A section without bits has a size, and nothing in the file.
    if (section.sh_type == SHT_NOBITS) continue;
    if (!is_inside(bytes, section.sh_offset, section.sh_size)) return false;
  }
  return true;
}

bool is_whole_fatbin(std::string_view bytes) {
  fatbin_head head;
  return read(bytes, head) && is_inside(bytes, head.head_size, head.size);
}

void check_text(std::string_view text) {
  const std::size_t end = text.find('\0');
  if (end == std::string_view::npos || text.find_first_not_of('\0', end) == std::string_view::npos)
    return;
  throw invalid_argument("the module is no PTX: PTX is text, and byte " + std::to_string(end) +
                         " of the module is a null character");
}

void check_machine_code(std::string_view bytes) {
  const bool elf = is_elf(bytes);
  if (!elf && !is_fatbin(bytes)) {
    throw invalid_argument("the module is neither a cubin nor a fatbin, by its first bytes");
  }
  if (elf ? is_whole_elf(bytes) : is_whole_fatbin(bytes)) return;
  throw invalid_argument(std::string("the module is a ") + (elf ? "cubin" : "fatbin") +
                         " whose end is missing: it has " + std::to_string(bytes.size()) +
                         " bytes");
}

}  // namespace

std::vector<char> image_of(outback_format format, const void* bytes, std::size_t size) {
  const std::string_view given(static_cast<const char*>(bytes), size);
  switch (format) {
    case OUTBACK_FORMAT_PTX:
      check_text(given);
      break;
    case OUTBACK_FORMAT_CUBIN:
      check_machine_code(given);
      break;
    default:
      throw unsupported("the CUDA runtime takes modules in the formats OUTBACK_FORMAT_CUBIN, " +
                        std::to_string(OUTBACK_FORMAT_CUBIN) + ", and OUTBACK_FORMAT_PTX, " +
                        std::to_string(OUTBACK_FORMAT_PTX) + ", not " + std::to_string(format));
  }
  std::vector<char> image(given.begin(), given.end());
  image.push_back('\0');
  return image;
}

}  // namespace outback::cuda
