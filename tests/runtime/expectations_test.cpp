// The file of what a runtime is known not to do: what it says, and what is wrong with it.
#include "tests/runtime/suite/expectations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace outback::suite {
namespace {

using testing::HasSubstr;

std::string refusal_of(std::string_view text) {
  try {
    expectations::of_text(text, "acme.txt");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Expectations, AreAKindAPatternAndAReason) {
  const auto all = expectations::of_text(
      "# What acme lacks.\n"
      "\n"
      "unsupported EventTest.*\t# no events  \r\n"
      "  fails CopyTest.RoundTrip#driver bug # 12",
      "acme.txt");
  const expectation* events = all.of("EventTest.ManyStreamsWaitForOne");
  ASSERT_NE(events, nullptr);
  EXPECT_EQ(events->want, outcome::unsupported);
  EXPECT_EQ(events->reason, "no events");
  EXPECT_EQ(events->where, "acme.txt:3");
  const expectation* copy = all.of("CopyTest.RoundTrip");
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->want, outcome::failed);
  EXPECT_EQ(copy->reason, "driver bug # 12");
  EXPECT_EQ(copy->where, "acme.txt:4");
  EXPECT_EQ(all.of("CopyTest.RoundTripOfEverySize"), nullptr);
}

TEST(Expectations, AnEmptyFileExpectsNothing) {
  EXPECT_EQ(expectations::of_text("", "acme.txt").of("CopyTest.RoundTrip"), nullptr);
  EXPECT_EQ(expectations::of_text("", "acme.txt").problem({"A.B"}), "");
}

TEST(Expectations, AMalformedLineIsNamed) {
  EXPECT_THAT(refusal_of("\nfails A.B"), HasSubstr("acme.txt:2: the reason is missing"));
  EXPECT_THAT(refusal_of("fails A.B #  "), HasSubstr("acme.txt:1: the reason is missing"));
  EXPECT_THAT(refusal_of("fail A.B # x"), HasSubstr("acme.txt:1: what is \"fail\"?"));
  EXPECT_THAT(refusal_of("fails # x"), HasSubstr("the pattern is missing"));
  EXPECT_THAT(refusal_of("fails A.B C.D # x"), HasSubstr("and not \"C.D\" too"));
  EXPECT_THAT(refusal_of("fails Everything # x"), HasSubstr("\"Everything\" has no dot"));
  EXPECT_EQ(refusal_of("fails A.B # x"), "accepted");
}

TEST(Expectations, AFileThatIsNotThereIsAnError) {
  EXPECT_THROW(expectations::of_file("/nowhere/acme.txt"), std::runtime_error);
}

TEST(Expectations, EveryLineIsForATestAndEveryTestHasOne) {
  const auto all = expectations::of_text("fails A.* # x\nfails A.B # y\nunsupported C.D # z", "f");
  EXPECT_EQ(all.problem({"A.B", "A.E"}),
            "f:3: there is no test C.D\nf:2: A.B is expected at f:1 already");
  EXPECT_EQ(all.problem({"A.E"}), "f:2: there is no test A.B\nf:3: there is no test C.D");
}

TEST(Expectations, WhatIsNotTrueAnyMoreSaysWhatToDo) {
  const expectation fails = {outcome::failed, "A.*", "a bug", "f:1"};
  const expectation unsupported = {outcome::unsupported, "A.*", "no events", "f:2"};
  EXPECT_EQ(contradiction(fails, "A.B", outcome::failed), "");
  EXPECT_EQ(contradiction(unsupported, "A.B", outcome::unsupported), "");
  EXPECT_EQ(contradiction(fails, "A.B", outcome::passed),
            "f:1: A.B passed, and the line says fails (a bug): remove the line");
  EXPECT_EQ(contradiction(fails, "A.B", outcome::unsupported),
            "f:1: A.B is unsupported, and the line says fails (a bug): say unsupported");
  EXPECT_EQ(contradiction(unsupported, "A.B", outcome::passed),
            "f:2: A.B passed, and the line says unsupported (no events): remove the line");
  EXPECT_THAT(contradiction(unsupported, "A.B", outcome::failed), HasSubstr("or say fails"));
}

TEST(Expectations, PatternsAreThoseOfGoogleTest) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("A.*", "A."));
  EXPECT_TRUE(matches("A.*c*", "A.abcd"));
  EXPECT_TRUE(matches("?.B", "A.B"));
  EXPECT_FALSE(matches("?.B", ".B"));
  EXPECT_FALSE(matches("A.B", "A.BC"));
  EXPECT_FALSE(matches("A.*c", "A.abcd"));
}

}  // namespace
}  // namespace outback::suite
