// Which answers of a runtime can be true.
#include "outback/answer_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace outback {
namespace {

outback_device_info right() {
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  info.memory_size = info.max_alloc_size = 1 << 20;
  info.alignment = 64;
  std::strcpy(info.name, "Ger\xc3\xa4t");
  return info;
}

const void* at(uintptr_t address) {
  return reinterpret_cast<const void*>(address);
}

TEST(AnswerCheck, ANumberOfDevicesIsNotNegativeAndStays) {
  EXPECT_EQ(device_count_problem(0), "");
  EXPECT_EQ(device_count_problem(2, 2), "");
  EXPECT_EQ(device_count_problem(-1), "counted -1 devices");
  EXPECT_EQ(device_count_problem(-1, 2), "counted -1 devices");
  EXPECT_NE(device_count_problem(3, 2), "");
  EXPECT_NE(device_count_problem(2, 0), "");
}

TEST(AnswerCheck, PropertiesAreThoseOfADevice) {
  EXPECT_EQ(device_info_problem(right()), "");
  outback_device_info info = right();
  info.kernels_of = 2;  // CUDA's reach memory that the host need not
  EXPECT_EQ(device_info_problem(info), "");
  info.kernels_of = 1;
  EXPECT_NE(device_info_problem(info), "");
  info.flags = OUTBACK_HOST_ADDRESSABLE;
  EXPECT_EQ(device_info_problem(info), "");
  for (const uint32_t alignment : {64u, 128u, 4096u, 1u << 31}) {
    info.alignment = alignment;
    EXPECT_EQ(device_info_problem(info), "") << alignment;
  }
  for (const uint32_t alignment : {0u, 1u, 32u, 63u, 65u, 96u, 0xffffffffu}) {
    info.alignment = alignment;
    EXPECT_NE(device_info_problem(info), "") << alignment;
  }
  info = right();
  info.max_alloc_size = 0;
  EXPECT_NE(device_info_problem(info), "");
  info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(device_info_problem(info), "answered ok and wrote nothing to *info");
}

TEST(AnswerCheck, TextsEndAndAreUtf8) {
  outback_device_info info = right();
  std::memset(info.name, 'x', sizeof(info.name) - 1);  // the longest that there may be
  EXPECT_EQ(device_info_problem(info), "");
  info.name[sizeof(info.name) - 1] = 'x';
  EXPECT_NE(device_info_problem(info), "");
  info = right();
  std::strcpy(info.name, "a\xffz");
  EXPECT_EQ(device_info_problem(info), "made name \"a\\xffz\": expected UTF-8");
}

TEST(AnswerCheck, Utf8IsWhatPythonTakes) {
  for (const char* valid : {"", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xed\x9f\xbf",
                            "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(as_utf8(valid), valid);
  }
  const std::string no_character = "\xef\xbf\xbd";
  // Cut, too long, half of a pair, beyond the last plane, nothing that begins one.
  EXPECT_EQ(as_utf8("a\xc3"), "a" + no_character);
  EXPECT_EQ(as_utf8("\xc0\xaf"), no_character + no_character);
  EXPECT_EQ(as_utf8("\xe0\x9f\xbf"), no_character + no_character + no_character);
  EXPECT_EQ(as_utf8("\xed\xa0\x80"), no_character + no_character + no_character);
  EXPECT_EQ(as_utf8("\xf4\x90\x80\x80").size(), 4 * no_character.size());
  EXPECT_EQ(as_utf8("\x80z"), no_character + "z");
}

TEST(AnswerCheck, MemoryIsAlignedAndWithinTheAddresses) {
  EXPECT_EQ(memory_problem(at(128), 1, 64), "");
  EXPECT_EQ(memory_problem(at(0 - uintptr_t{64}), 64, 64), "");
  EXPECT_NE(memory_problem(at(0 - uintptr_t{64}), 65, 64), "");
  EXPECT_NE(memory_problem(at(96), 1, 64), "");
  EXPECT_NE(memory_problem(nullptr, 1, 64), "");
}

TEST(AnswerCheck, MemoryForTheCpuIsTheProcesss) {
  const auto page = std::size_t(sysconf(_SC_PAGESIZE));
  auto* const pages =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  EXPECT_EQ(reach_problem(pages, 2 * page), "");
  munmap(pages + page, page);
  errno = 0;
  EXPECT_EQ(reach_problem(pages + 64, page - 64), "");
  EXPECT_THAT(reach_problem(pages + 64, page - 63), testing::HasSubstr("and not all of "));
  EXPECT_NE(reach_problem(at(uintptr_t{1} << 63), 64), "");
  EXPECT_EQ(errno, 0);
  munmap(pages, page);
}

TEST(AnswerCheck, WhatIsSaidOfAPointerFitsIt) {
  const auto problem = [](int32_t device, int32_t pinned, uintptr_t base, std::size_t size) {
    outback_pointer_info info = {};
    info.device = device;
    info.pinned = pinned;
    info.base = const_cast<void*>(at(base));
    info.size = size;
    return pointer_info_problem(info, at(4096), 2);
  };
  EXPECT_EQ(problem(1, 0, 4096, 1), "");
  EXPECT_EQ(problem(OUTBACK_HOST, 1, 4000, 97), "");
  EXPECT_EQ(problem(OUTBACK_HOST, 0, 0, 0), "");
  EXPECT_NE(problem(2, 0, 0, 0), "");
  EXPECT_NE(problem(-2, 0, 0, 0), "");
  EXPECT_NE(problem(OUTBACK_HOST, 2, 0, 0), "");
  EXPECT_NE(problem(OUTBACK_HOST, -1, 0, 0), "");
  EXPECT_NE(problem(0, 0, 4000, 96), "");
  EXPECT_NE(problem(0, 0, 4097, 64), "");
  EXPECT_NE(problem(0, 0, 0, SIZE_MAX), "");
  EXPECT_NE(problem(0, 0, 4096, 0), "");
}

TEST(AnswerCheck, RecordsAreOfWorkThatEndsAfterItBegan) {
  const auto problem = [](uint32_t count, outback_record_kind kind, int64_t begin, int64_t end) {
    outback_records records = {};
    records.count = count;
    records.list[0].kind = kind;
    records.list[0].begin = begin;
    records.list[0].end = end;
    return records_problem(records);
  };
  EXPECT_EQ(problem(0, 0, 2, 1), "");
  EXPECT_EQ(problem(1, OUTBACK_RECORD_FILL, -2, -2), "");
  EXPECT_EQ(problem(1, 1000, 1, 2), "") << "a kind to come";
  EXPECT_THAT(problem(257, 1, 1, 1), testing::HasSubstr("count 257: expected at most 256"));
  EXPECT_THAT(problem(1, 0, 1, 1), testing::HasSubstr("list[0].kind 0"));
  EXPECT_THAT(problem(1, 1, 2, 1), testing::HasSubstr("list[0].begin 2 and end 1"));
}

}  // namespace
}  // namespace outback
