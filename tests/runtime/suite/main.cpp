// Runs the suite on the program's table, counts "unsupported" apart from "passed", and compares
// both with what was expected of this runtime. See options.hpp.
#include <gtest/gtest.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "outback/table_check.hpp"
#include "tests/runtime/suite/expectations.hpp"
#include "tests/runtime/suite/first_contact.hpp"
#include "tests/runtime/suite/guard.hpp"
#include "tests/runtime/suite/options.hpp"
#include "tests/runtime/suite/other_process.hpp"
#include "tests/runtime/suite/report.hpp"
#include "tests/runtime/suite/suite.hpp"
#include "tests/runtime/suite/table.h"
#include "tests/runtime/suite/watched.hpp"

namespace outback::suite {
namespace {

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

const outback_runtime* table_of_the_program() {
  begin_guarded("the first contact: the function that answers the table");
  const outback_runtime* table = outback_suite_table();
  end_guarded();
  return table;
}

int run() {
  const options& given = given_options();
  static const expectations expected =
      given.expectations.empty() ? expectations() : expectations::of_file(given.expectations);
  auto* counts = new report(expected, given);  // GoogleTest's, until the process ends
  const guard named(!counts->is_brief());
  std::string problem = table_problem(table_of_the_program());
  if (problem.empty()) problem = expected.problem(all_tests());
  if (!problem.empty()) {
    std::fprintf(stderr, "runtime suite: %s\n", problem.c_str());
    return 1;
  }
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  delete listeners.Release(listeners.default_result_printer());
  listeners.Append(counts);
  testing::AddGlobalTestEnvironment(new first_contact);
  const int result = RUN_ALL_TESTS();
  return counts->exit_status(result);
}

// What tests free is used again, and not given back to the system: to clear the pages of all the
// big buffers took half of the suite's time.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc takes
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

int run_program(int argc, char** argv) {
  keep_freed_memory();
  testing::InitGoogleTest(&argc, argv);
  try {
    const std::string problem = read_options(argc, argv);
    if (problem.empty()) return run();
    std::fprintf(stderr, "runtime suite: %s\n", problem.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "runtime suite: %s\n", error.what());
  }
  return 1;
}

}  // namespace

const outback_runtime& table() {
  static const complete_table& whole = *new complete_table(*outback_suite_table());
  return whole.runtime();
}

}  // namespace outback::suite

int main(int argc, char** argv) {
  if (const auto status = outback::suite::run_role(argc, argv)) return *status;
  if (const auto status = outback::suite::run_watched(argc, argv)) return *status;
  return outback::suite::end_watched(outback::suite::run_program(argc, argv));
}
