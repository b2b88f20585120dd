#include "tests/runtime/suite/report.hpp"

#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "tests/runtime/suite/guard.hpp"

#ifndef GTEST_FLAG_GET  // before 1.12
#define GTEST_FLAG_GET(name) testing::GTEST_FLAG(name)
#endif

namespace outback::suite {
namespace {

// "unsupported: needs streams" -> "needs streams"
std::string reason(const testing::TestResult& result) {
  constexpr std::string_view prefix = "unsupported: ";
  for (int i = 0; i < result.total_part_count(); ++i) {
    const std::string text = result.GetTestPartResult(i).message();
    if (const auto at = text.find(prefix); at != std::string::npos)
      return text.substr(at + prefix.size());
  }
  return "no reason given";
}

std::string counted(int number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

// What fails outside of any test, which no line can expect.
bool failed_outside_of_tests() {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  bool failed = all.ad_hoc_test_result().Failed();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    failed = failed || all.GetTestSuite(s)->ad_hoc_test_result().Failed();
  }
  return failed;
}

}  // namespace

std::string name_of(const testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

report::report(const expectations& expected, const options& given)
    : expected_(expected),
      given_(given),
      brief_(GTEST_FLAG_GET(brief)),
      on_terminal_(isatty(STDOUT_FILENO) == 1) {}

int report::exit_status(int result) const {
  if (!started_) return result;  // --help, --gtest_list_tests
  if (contact_failed_ || failed_ + contradicted_ != 0 || failed_outside_of_tests()) return 1;
  if (selected_ == 0) return 1;
  if (result != 0 && expected_failures_ == 0) return result;
  if (given_.whole && unsupported_ != expected_unsupported_) return 2;
  const int tested = passed_ + expected_failures_ + expected_unsupported_;
  return tested == 0 ? nothing_tested : 0;
}

// The test that runs now, on a line that the next one takes.
void report::show_running(const std::string& name) const {
  if (!on_terminal_ || brief_) return;
  std::printf("[ RUN      ] %s, %d of %d", name.c_str(), done_ + 1, selected_);
  std::fflush(stdout);
}

void report::hide_running() const {
  if (on_terminal_ && !brief_) std::printf("\r\033[K");
}

void report::OnTestProgramStart(const testing::UnitTest&) {
  started_ = true;
}

void report::OnTestIterationStart(const testing::UnitTest& all, int iteration) {
  selected_ = all.test_to_run_count();
  done_ = 0;
  failures_.clear();
  needs_.clear();
  began_ = std::chrono::steady_clock::now();
  if (brief_) return;
  if (iteration != 0) std::printf("\nRepeating all tests (iteration %d) . . .\n\n", iteration + 1);
  std::printf("[==========] Running %s from %s.\n", counted(selected_, "test").c_str(),
              counted(all.test_suite_to_run_count(), "test suite").c_str());
  std::fflush(stdout);
}

void report::OnEnvironmentsSetUpEnd(const testing::UnitTest& all) {
  contact_failed_ = contact_failed_ || all.ad_hoc_test_result().Failed();
}

void report::OnTestStart(const testing::TestInfo& test) {
  if (contact_failed_) return;
  begin_guarded(name_of(test));
  show_running(name_of(test));
}

void report::OnTestPartResult(const testing::TestPartResult& part) {
  if (!part.failed()) return;
  hide_running();
  if (part.file_name() == nullptr) {
    std::printf("unknown file: Failure\n%s\n", part.message());
  } else {
    std::printf("%s:%d: Failure\n%s\n", part.file_name(), part.line_number(), part.message());
  }
  std::fflush(stdout);
}

void report::OnTestEnd(const testing::TestInfo& test) {
  end_guarded();
  if (contact_failed_) {
    ++not_run_;
    return;
  }
  hide_running();
  ++done_;
  const testing::TestResult& result = *test.result();
  const outcome got = result.Failed()    ? outcome::failed
                      : result.Skipped() ? outcome::unsupported
                                         : outcome::passed;
  const std::string name = name_of(test);
  const expectation* line = expected_.of(name);
  const bool as_expected = line != nullptr && line->want == got;
  if (got == outcome::unsupported) {
    ++needs_[reason(result)];
    if (given_.lists_unsupported) {
      std::printf("[UNSUPPORTED] %s: %s\n", name.c_str(), reason(result).c_str());
    }
  } else if (!brief_ || got == outcome::failed) {
    std::printf("[%s] %s (%lld ms), %d of %d%s\n",
                got == outcome::failed ? "  FAILED  " : "       OK ", name.c_str(),
                static_cast<long long>(result.elapsed_time()), done_, selected_,
                got == outcome::failed && as_expected ? ", as expected" : "");
  }
  if (line != nullptr && !as_expected) {
    ++contradicted_;
    std::printf("[CONTRADICTED] %s\n", contradiction(*line, name, got).c_str());
    if (got == outcome::failed) failures_.push_back(name);
  } else {
    count(got, test, as_expected);
  }
  std::fflush(stdout);
}

void report::count(outcome got, const testing::TestInfo& test, bool expected) {
  switch (got) {
    case outcome::passed:
      ++passed_;
      break;
    case outcome::unsupported:
      ++unsupported_;
      if (expected) ++expected_unsupported_;
      break;
    case outcome::failed:
      ++(expected ? expected_failures_ : failed_);
      failures_.push_back(name_of(test) + (expected ? ", as expected" : ""));
      break;
  }
}

void report::OnTestIterationEnd(const testing::UnitTest& all, int) {
  if (contact_failed_) return;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began_);
  std::printf("[==========] %s from %s ran. (%lld ms total)\n", counted(done_, "test").c_str(),
              counted(all.test_suite_to_run_count(), "test suite").c_str(),
              static_cast<long long>(took.count()));
  std::printf("[  PASSED  ] %s.\n", counted(all.successful_test_count(), "test").c_str());
  if (!needs_.empty()) {
    std::printf("[  SKIPPED ] %s of what the runtime has not got%s\n",
                counted(all.skipped_test_count(), "test").c_str(),
                given_.lists_unsupported ? ":" : " (--list-unsupported names each):");
    for (const auto& [need, tests] : needs_) {
      std::printf("             %s: %s\n", need.c_str(), counted(tests, "test").c_str());
    }
  }
  if (failures_.empty()) return;
  std::printf("[  FAILED  ] %s, listed below:\n",
              counted(static_cast<int>(failures_.size()), "test").c_str());
  for (const std::string& each : failures_) std::printf("[  FAILED  ] %s\n", each.c_str());
}

void report::OnTestProgramEnd(const testing::UnitTest&) {
  std::printf("runtime suite: %d passed, %d unsupported, %d failed", passed_, unsupported_,
              failed_);
  if (expected_failures_ != 0) std::printf(", %d failed as expected", expected_failures_);
  if (contradicted_ != 0) std::printf(", %d contradict what was expected", contradicted_);
  if (contact_failed_) {
    std::printf(", %d not run, since the first contact failed", not_run_);
  } else if (selected_ == 0) {
    std::printf(": no test has such a name, so nothing was tested");
  } else if (exit_status(0) == nothing_tested) {
    std::printf(": nothing was tested, which is no success");
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace outback::suite
