// The sizes of a kernel's parameters, as they stand in a fat binary; and what compresses one.
#include "tests/fakes/cudart/fat_binary.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "tests/fakes/cudart/decompress.hpp"
#include "tests/fakes/cudart/test_image.hpp"

namespace fake_cuda {
namespace {

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

TEST(FatBinaryTest, an_image_alone_says_so_too) {
  const auto found = parameters_of_image(image().data());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.at("twice").size(), 3u);
  EXPECT_TRUE(parameters_of_image(".version 8.0").empty());
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
