// Runs the suite on the table that OUTBACK_SUITE_TABLE names, and counts "unsupported" apart from
// "passed". With
// --whole, an unsupported test fails the run.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "outback/table_check.hpp"
#include "tests/runtime/suite/other_process.hpp"
#include "tests/runtime/suite/suite.hpp"

extern "C" const outback_runtime* OUTBACK_SUITE_TABLE(void);

namespace outback::suite {
namespace {

class summary : public testing::EmptyTestEventListener {
 public:
  int unsupported() const { return unsupported_; }

 private:
  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& result = *test.result();
    if (result.Failed()) {
      ++failed_;
    } else if (!result.Skipped()) {
      ++passed_;
    } else {
      ++unsupported_;
      std::printf("[UNSUPPORTED] %s.%s: %s\n", test.test_suite_name(), test.name(),
                  reason(result).c_str());
    }
  }

  void OnTestProgramEnd(const testing::UnitTest&) override {
    std::printf("runtime suite: %d passed, %d unsupported, %d failed\n", passed_, unsupported_,
                failed_);
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

  int passed_ = 0, unsupported_ = 0, failed_ = 0;
};

}  // namespace

const outback_runtime& table() {
  static const complete_table& whole = *new complete_table(*OUTBACK_SUITE_TABLE());
  return whole.runtime();
}

}  // namespace outback::suite

int main(int argc, char** argv) {
  if (const auto status = outback::suite::run_role(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  if (const std::string problem = outback::table_problem(OUTBACK_SUITE_TABLE()); !problem.empty()) {
    std::fprintf(stderr, "runtime suite: %s\n", problem.c_str());
    return 1;
  }
  auto* summary = new outback::suite::summary;  // GoogleTest's, until the process ends
  testing::UnitTest::GetInstance()->listeners().Append(summary);
  const int result = RUN_ALL_TESTS();
  const bool whole = argc > 1 && std::string_view(argv[1]) == "--whole";
  return result != 0 ? result : whole && summary->unsupported() != 0 ? 2 : 0;
}
