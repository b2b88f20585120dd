// The sizes of a kernel's parameters, as they stand in a fat binary; and what compresses one.
#include "tests/fakes/cudart/fat_binary.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

#include "tests/fakes/cudart/decompress.hpp"

namespace fake_cuda {
namespace {

template <class T>
void append(std::vector<std::byte>& to, const T& value) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
  to.insert(to.end(), bytes, bytes + sizeof(T));
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

void append_parameter(std::vector<std::byte>& to, uint16_t ordinal, uint16_t offset, uint32_t size,
                      bool large = false) {
  append(to, uint16_t(large ? 0x4504 : 0x1704));
  append(to, uint16_t(12));
  append(to, uint32_t(0));
  append(to, ordinal);
  append(to, offset);
  append(to, large ? size : size << 18 | 0x1f000);
}

// Two sections: the names of sections, and what is known of the kernel "twice".
std::vector<std::byte> image() {
  const std::vector<std::byte> names = bytes_of(std::string_view("\0.nv.info.twice\0", 16));
  std::vector<std::byte> info;
  append(info, uint32_t(0x00013701));  // one whose value is in its head
  append_parameter(info, 1, 8, 4);     // the last parameter comes first
  append_parameter(info, 0, 0, 8);
  append_parameter(info, 2, 12, 20000, true);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
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

std::vector<std::byte> container(uint32_t magic) {
  const std::vector<std::byte> code = image();
  std::vector<std::byte> made;
  append(made, magic);
  append(made, uint16_t(1));
  append(made, uint16_t(16));
  append(made, uint64_t(2 * 64 + 8 + code.size()));
  const auto add = [&](uint16_t kind, const std::vector<std::byte>& what) {
    append(made, kind);
    append(made, uint16_t(0x101));
    append(made, uint32_t(64));
    append(made, uint64_t(what.size()));
    for (int i = 0; i < 6; ++i) append(made, uint64_t(0));
    made.insert(made.end(), what.begin(), what.end());
  };
  add(1, bytes_of("PTX code"));
  add(2, code);
  return made;
}

struct wrapper {
  int magic = 0x466243b1, version = 1;
  const std::byte* data;
  void* other = nullptr;
};

TEST(FatBinaryTest, a_kernels_parameters_are_found) {
  const auto data = container(0xba55ed50);
  const wrapper given = {.data = data.data()};
  const auto found = parameters_in(&given, "twice");
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 3u);
  EXPECT_EQ(found->at(0).offset, 0u);
  EXPECT_EQ(found->at(0).size, 8u);
  EXPECT_EQ(found->at(1).offset, 8u);
  EXPECT_EQ(found->at(1).size, 4u);
  EXPECT_EQ(found->at(2).offset, 12u);
  EXPECT_EQ(found->at(2).size, 20000u);
}

TEST(FatBinaryTest, what_is_not_there_is_not_found) {
  const auto data = container(0xba55ed50), other = container(0);
  const wrapper given = {.data = data.data()}, foreign = {.data = other.data()};
  EXPECT_FALSE(parameters_in(&given, "thrice").has_value());
  EXPECT_FALSE(parameters_in(&foreign, "twice").has_value());
  EXPECT_FALSE(parameters_in(nullptr, "twice").has_value());
}

TEST(FatBinaryTest, lz4_is_undone) {
  // "abcab", then five bytes from two back, then "z".
  const auto packed =
      bytes_of(std::string_view("\x51"
                                "abcab"
                                "\x02\x00"
                                "\x10"
                                "z",
                                10));
  const auto made = from_lz4(packed, 11);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(*made, bytes_of("abcabababaz"));
  EXPECT_FALSE(from_lz4(packed, 12).has_value());
  EXPECT_FALSE(from_lz4(bytes_of(std::string_view("\x11"
                                                  "a"
                                                  "\x09\x00",
                                                  4)),
                        8)
                   .has_value());
}

}  // namespace
}  // namespace fake_cuda
