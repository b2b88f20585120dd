// What the program prints while it runs and at its end, in GoogleTest's words: a line for each test
// that ran, one for each kind of thing that the runtime has not got, and the counts.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "tests/runtime/suite/expectations.hpp"
#include "tests/runtime/suite/options.hpp"

namespace outback::suite {

/// "Suite.Name"
std::string name_of(const testing::TestInfo& test);

/// Takes the place of GoogleTest's own printer.
class report : public testing::EmptyTestEventListener {
 public:
  report(const expectations& expected, const options& given);

  /// The program's, after GoogleTest answered `result`: 0 only if something was tested and nothing
  /// was wrong. 1: a failure. 2: unsupported tests under --whole. `nothing_tested`: no more than
  /// unsupported tests, which is neither.
  int exit_status(int result) const;
  static constexpr int nothing_tested = 4;
  /// No line for each test.
  bool is_brief() const { return brief_; }

 private:
  void OnTestProgramStart(const testing::UnitTest& all) override;
  void OnEnvironmentsSetUpEnd(const testing::UnitTest& all) override;
  void OnTestIterationStart(const testing::UnitTest& all, int iteration) override;
  void OnTestStart(const testing::TestInfo& test) override;
  void OnTestPartResult(const testing::TestPartResult& part) override;
  void OnTestEnd(const testing::TestInfo& test) override;
  void OnTestIterationEnd(const testing::UnitTest& all, int iteration) override;
  void OnTestProgramEnd(const testing::UnitTest& all) override;

  void count(outcome got, const testing::TestInfo& test, bool expected);
  void show_running(const std::string& name) const;
  void hide_running() const;

  const expectations& expected_;
  const options given_;
  const bool brief_;
  const bool on_terminal_;
  bool started_ = false, contact_failed_ = false;
  int selected_ = 0, done_ = 0;        // of this iteration
  std::vector<std::string> failures_;  // of this iteration, as they are listed
  std::map<std::string, int> needs_;   // of this iteration: tests by what they need
  std::chrono::steady_clock::time_point began_;
  int passed_ = 0, unsupported_ = 0, failed_ = 0, not_run_ = 0;
  int expected_failures_ = 0, expected_unsupported_ = 0, contradicted_ = 0;
};

}  // namespace outback::suite
