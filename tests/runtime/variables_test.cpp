// The one reader of the environment: what each kind of variable takes, and the words of a refusal.
#include "outback/detail/variables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "outback/detail/refused_table.hpp"
#include "outback/table_check.hpp"

namespace outback::detail {
namespace {

using testing::StartsWith;

constexpr const char* tested = "OUTBACK_TEST_VARIABLE";

class VariablesTest : public testing::Test {
 protected:
  void TearDown() override { unsetenv(tested); }

  static const char* set(const std::string& value) {
    setenv(tested, value.c_str(), 1);
    return tested;
  }
  // What is said of `value`; "accepted" if it is taken.
  template <class Read>
  static std::string refusal(const std::string& value, Read&& read) {
    set(value);
    try {
      read(tested);
    } catch (const invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(VariablesTest, WhatIsNotSetOrEmptyIsNone) {
  for (int empty = 0; empty < 2; ++empty) {
    if (empty != 0) set("");
    EXPECT_EQ(variable(tested), std::nullopt);
    EXPECT_EQ(flag_variable(tested), std::nullopt);
    EXPECT_EQ(number_variable(tested), std::nullopt);
    EXPECT_EQ(size_variable(tested), std::nullopt);
    EXPECT_EQ(choice_variable(tested, {"a"}), std::nullopt);
    EXPECT_EQ(library_variable(tested), std::nullopt);
    EXPECT_EQ(raw_variable(tested).has_value(), empty != 0);
  }
  EXPECT_EQ(variable(set("x")), "x");
}

TEST_F(VariablesTest, Flags) {
  EXPECT_EQ(flag_variable(set("0")), false);
  EXPECT_EQ(flag_variable(set("1")), true);
  for (const char* value : {"yes", "true", "on", "2", "01", " 1", "1 ", "-1", "+1", "1\n"}) {
    EXPECT_EQ(refusal(value, [](auto v) { flag_variable(v); }),
              std::string(tested) + "=" + printable(value) + ": expected 0 or 1");
  }
}

TEST_F(VariablesTest, Numbers) {
  EXPECT_EQ(number_variable(set("0")), 0u);
  EXPECT_EQ(number_variable(set("007")), 7u);
  EXPECT_EQ(number_variable(set("18446744073709551615")), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(number_variable(set("3"), 3, 9), 3u);
  EXPECT_EQ(number_variable(set("9"), 3, 9), 9u);
  for (const char* value : {"2", "10", "-3", "+3", " 3", "3 ", "3x", "0x3", "3.0", "1e1", "three",
                            "99999999999999999999"}) {
    EXPECT_EQ(refusal(value, [](auto v) { number_variable(v, 3, 9); }),
              std::string(tested) + "=" + value + ": expected a number from 3 to 9");
  }
}

TEST_F(VariablesTest, Sizes) {
  EXPECT_EQ(size_variable(set("1")), 1u);
  for (const auto& [letters, unit] :
       {std::pair{"Kk", 1ull << 10}, {"Mm", 1ull << 20}, {"Gg", 1ull << 30}}) {
    for (const char* letter = letters; *letter != '\0'; ++letter) {
      EXPECT_EQ(size_variable(set(std::string("3") + *letter)), 3 * unit);
    }
  }
  EXPECT_EQ(size_variable(set("17179869183G")), 17179869183ull << 30);
  const auto read = [](auto v) { size_variable(v); };
  for (const char* value : {"0", "0G", "-1", "K", "1.5G", "1GB", "1 G", "1T", "K1"}) {
    EXPECT_EQ(refusal(value, read),
              std::string(tested) + "=" + value +
                  ": expected a number of bytes above 0, with K, M or G after it or nothing");
  }
  EXPECT_EQ(refusal("17179869184G", read),
            std::string(tested) + "=17179869184G: expected less than 2^64 bytes");
}

TEST_F(VariablesTest, Choices) {
  EXPECT_EQ(choice_variable(set("warn"), {"allow", "warn", "error"}), 1u);
  for (const char* value : {"Warn", "warn ", "wa", "0"}) {
    EXPECT_EQ(refusal(value, [](auto v) { choice_variable(v, {"allow", "warn", "error"}); }),
              std::string(tested) + "=" + value + ": expected allow, warn or error");
  }
}

TEST_F(VariablesTest, LibrariesAreAbsoluteOrTheLoadersToFind) {
  EXPECT_EQ(library_variable(set("/opt/lib/libx.so")), "/opt/lib/libx.so");
  EXPECT_EQ(library_variable(set("libx.so.1")), "libx.so.1");
  for (const char* value : {"./libx.so", "lib/libx.so", "../libx.so", "libx.so/"}) {
    EXPECT_THAT(refusal(value, [](auto v) { library_variable(v); }),
                StartsWith(std::string(tested) + "=" + value +
                           ": expected a library's absolute path, or its name"));
  }
}

// Python makes no exception of a text that is not UTF-8, and a terminal obeys escapes.
TEST_F(VariablesTest, AMessageIsOneLineOfUtf8) {
  EXPECT_EQ(shown("caf\u00e9 \u20ac"), "caf\u00e9 \u20ac");
  EXPECT_EQ(shown("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(shown("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(shown("\ufffd"), "\ufffd") << "which is a character";
  const std::string lengthy(1000, 'x');
  EXPECT_EQ(shown(lengthy), lengthy.substr(0, 400) + "...");
  EXPECT_EQ(printable(lengthy), lengthy);
  EXPECT_EQ(refusal("\xfe", [](auto v) { flag_variable(v); }),
            std::string(tested) + "=\\xfe: expected 0 or 1");
}

TEST_F(VariablesTest, DriversVariablesAreReadAsTheyAre) {
  EXPECT_EQ(variable_of_driver(tested), std::nullopt);
  EXPECT_EQ(variable_of_driver(set("")), "");
  EXPECT_EQ(variable_of_driver(set("GPU-1,x")), "GPU-1,x");
}

TEST(RefusedTableTest, ATableThatIsRefusedIsAProblemAndNoOtherIs) {
  outback_runtime refused = {}, other = {};
  EXPECT_EQ(refuse_table(&refused, "A=b: expected c"), &refused);
  EXPECT_EQ(table_problem(&refused), "A=b: expected c");
  EXPECT_THAT(table_problem(&other), StartsWith("the runtime's table says struct_size 0"));
}

}  // namespace
}  // namespace outback::detail
