// Runs the suite on the program's table, counts "unsupported" apart from "passed", and compares
// both with what was expected of this runtime. See options.hpp.
#include <gtest/gtest.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "outback/table_check.hpp"
#include "tests/runtime/suite/expectations.hpp"
#include "tests/runtime/suite/options.hpp"
#include "tests/runtime/suite/other_process.hpp"
#include "tests/runtime/suite/suite.hpp"
#include "tests/runtime/suite/table.h"

namespace outback::suite {
namespace {

std::string name_of(const testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

std::vector<std::string> all_tests() {
  std::vector<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int i = 0; i < suite.total_test_count(); ++i) {
      names.push_back(name_of(*suite.GetTestInfo(i)));
    }
  }
  return names;
}

class summary : public testing::EmptyTestEventListener {
 public:
  explicit summary(const expectations& expected) : expected_(expected) {}

  /// Tests that failed and were not expected to, and tests that did not do what was expected.
  int wrong() const { return failed_ + contradicted_; }
  int expected_failures() const { return expected_failures_; }
  /// Unsupported, and not expected to be.
  int missing() const { return missing_; }

 private:
  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& result = *test.result();
    const outcome got = result.Failed()    ? outcome::failed
                        : result.Skipped() ? outcome::unsupported
                                           : outcome::passed;
    const std::string name = name_of(test);
    const expectation* line = expected_.of(name);
    if (got == outcome::unsupported) {
      std::printf("[UNSUPPORTED] %s: %s\n", name.c_str(), reason(result).c_str());
    }
    if (line == nullptr || line->want == got) {
      count(got, line != nullptr);
      return;
    }
    ++contradicted_;
    std::printf("[CONTRADICTED] %s\n", contradiction(*line, name, got).c_str());
  }

  void count(outcome got, bool expected) {
    switch (got) {
      case outcome::passed:
        ++passed_;
        break;
      case outcome::unsupported:
        ++unsupported_;
        if (!expected) ++missing_;
        break;
      case outcome::failed:
        ++(expected ? expected_failures_ : failed_);
        break;
    }
  }

  void OnTestProgramEnd(const testing::UnitTest&) override {
    std::printf("runtime suite: %d passed, %d unsupported, %d failed", passed_, unsupported_,
                failed_);
    if (expected_failures_ != 0) std::printf(", %d failed as expected", expected_failures_);
    if (contradicted_ != 0) std::printf(", %d contradict what was expected", contradicted_);
    std::printf("\n");
  }

  // "unsupported: needs streams" -> "needs streams"
  static std::string reason(const testing::TestResult& result) {
    constexpr std::string_view prefix = "unsupported: ";
    for (int i = 0; i < result.total_part_count(); ++i) {
      const std::string text = result.GetTestPartResult(i).message();
      if (const auto at = text.find(prefix); at != std::string::npos)
        return text.substr(at + prefix.size());
    }
    return "no reason given";
  }

  const expectations& expected_;
  int passed_ = 0, unsupported_ = 0, failed_ = 0;
  int expected_failures_ = 0, contradicted_ = 0, missing_ = 0;
};

// What fails outside of any test, which no line can expect.
bool failed_outside_of_tests() {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  bool failed = all.ad_hoc_test_result().Failed();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    failed = failed || all.GetTestSuite(s)->ad_hoc_test_result().Failed();
  }
  return failed;
}

int run() {
  if (const std::string problem = table_problem(outback_suite_table()); !problem.empty()) {
    std::fprintf(stderr, "runtime suite: %s\n", problem.c_str());
    return 1;
  }
  const options& given = given_options();
  static const expectations expected =
      given.expectations.empty() ? expectations() : expectations::of_file(given.expectations);
  if (const std::string problem = expected.problem(all_tests()); !problem.empty()) {
    std::fprintf(stderr, "runtime suite: %s\n", problem.c_str());
    return 1;
  }
  auto* counts = new summary(expected);  // GoogleTest's, until the process ends
  testing::UnitTest::GetInstance()->listeners().Append(counts);
  const int result = RUN_ALL_TESTS();
  if (counts->wrong() != 0 || failed_outside_of_tests()) return 1;
  if (result != 0 && counts->expected_failures() == 0) return result;
  return given.whole && counts->missing() != 0 ? 2 : 0;
}

}  // namespace

const outback_runtime& table() {
  static const complete_table& whole = *new complete_table(*outback_suite_table());
  return whole.runtime();
}

}  // namespace outback::suite

int main(int argc, char** argv) {
  if (const auto status = outback::suite::run_role(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  try {
    const std::string problem = outback::suite::read_options(argc, argv);
    if (problem.empty()) return outback::suite::run();
    std::fprintf(stderr, "runtime suite: %s\n", problem.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "runtime suite: %s\n", error.what());
  }
  return 1;
}
