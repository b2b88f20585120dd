// Runs a part of a test in a process of its own, which GoogleTest's death tests start.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace outback {

/// Runs the statements in a process of its own. Their EXPECT_... count, and an exception is a
/// failure.
#define OUTBACK_EXPECT_IN_OWN_PROCESS(...)                                              \
  do {                                                                                  \
    const auto outback_body = [&] { __VA_ARGS__; };                                     \
    GTEST_FLAG_SET(death_test_style, "threadsafe");                                     \
    EXPECT_EXIT(::outback::run_and_exit(outback_body), testing::ExitedWithCode(0), ""); \
  } while (false)

/// What fails there goes to the parent by stderr, since GoogleTest itself is silent in such a
/// process.
template <class Body>
[[noreturn]] void run_and_exit(const Body& body) {
  try {
    body();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "it threw: " << error.what();
  }
  const testing::TestResult& all = *testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int i = 0; i < all.total_part_count(); ++i) {
    const testing::TestPartResult& each = all.GetTestPartResult(i);
    if (!each.failed()) continue;
    std::fprintf(stderr, "%s:%d: %s\n", each.file_name(), each.line_number(), each.message());
  }
  std::exit(all.Failed() ? 1 : 0);
}

}  // namespace outback
