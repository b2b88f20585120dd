// Texts of layers, where they could go wrong.
#include "backend_template/layers/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace outback::layers {
namespace {

TEST(JsonEscapeTest, PlainTextStays) {
  EXPECT_EQ(json_escaped("mem_alloc: 64 bytes (0x7f), ~/"), "mem_alloc: 64 bytes (0x7f), ~/");
}

TEST(JsonEscapeTest, WhatJsonHasNotIsEscaped) {
  EXPECT_EQ(json_escaped("\"a\\b\""), "\\\"a\\\\b\\\"");
  EXPECT_EQ(json_escaped("\n\t\x01\x7f"), "\\u000a\\u0009\\u0001\\u007f");
  EXPECT_EQ(json_escaped(std::string_view("\0", 1)), "\\u0000");
}

TEST(JsonEscapeTest, OtherCharactersAreTheirNumbers) {
  EXPECT_EQ(json_escaped("\u00e9\u20ac\U0001f600"), "\\u00e9\\u20ac\\ud83d\\ude00");
}

TEST(JsonEscapeTest, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(json_escaped("a\xff"
                         "b"),
            "a\\ufffdb");
  EXPECT_EQ(json_escaped("\xe2\x82"), "\\ufffd\\ufffd") << "cut off";
  EXPECT_EQ(json_escaped("\xc0\x80"), "\\ufffd\\ufffd") << "longer than need be";
  EXPECT_EQ(json_escaped("\xed\xa0\x80"), "\\ufffd\\ufffd\\ufffd") << "half a pair";
  EXPECT_EQ(json_escaped("\xf4\x90\x80\x80"), "\\ufffd\\ufffd\\ufffd\\ufffd") << "beyond the last";
}

TEST(StatusTest, NamesGoBothWays) {
  for (outback_status status = OUTBACK_OK; status <= OUTBACK_INTERNAL; ++status) {
    ASSERT_NE(status_name(status), nullptr);
    EXPECT_EQ(status_of_name(status_name(status)), status);
  }
  EXPECT_STREQ(status_name(OUTBACK_DEVICE_LOST), "device_lost");
  EXPECT_EQ(status_name(OUTBACK_INTERNAL + 1), nullptr);
  EXPECT_EQ(status_name(-1), nullptr);
  EXPECT_EQ(status_of_name("lost"), -1);
}

}  // namespace
}  // namespace outback::layers
