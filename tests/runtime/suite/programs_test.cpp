// Random stream programs: whatever a legal program reads is what it would have read with one
// operation done after the other.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "tests/runtime/suite/options.hpp"
#include "tests/runtime/suite/programs/generator.hpp"
#include "tests/runtime/suite/programs/runner.hpp"
#include "tests/runtime/suite/programs/shrink.hpp"
#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class ProgramTest : public RuntimeTest {
 protected:
  // What fails may depend on luck, so a shorter program gets several chances.
  static std::optional<mismatch> run_often(const program& p) {
    for (int i = 0; i < 5; ++i) {
      if (auto found = run(p)) return found;
    }
    return std::nullopt;
  }

  static std::string report(const program& failed, const mismatch& first) {
    mismatch last = first;
    const auto fails = [&](const program& shorter) {
      const auto found = run_often(shorter);
      if (found) last = *found;
      return found.has_value();
    };
    const program least = shrink(failed, fails, std::chrono::seconds(10));
    const std::string seed = std::to_string(failed.seed);
    return "program of seed " + seed +
           " (--gtest_filter=ProgramTest.* --programs=1 --seed=" + seed + "), operation " +
           std::to_string(first.operation) + " of " + std::to_string(failed.operations.size()) +
           ": " + first.text + "\nIt fails, if not always, with no more than this:\n" +
           text_of(least) + "  at operation " + std::to_string(last.operation) + ": " + last.text;
  }
};

TEST_F(ProgramTest, EveryProgramReadsWhatTheModelPredicts) {
  const options& given = given_options();
  const machine on = machine_of_the_table();
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < given.programs; ++i) {
    const program p = generate(given.seed + i, on);
    if (const auto found = run(p)) {
      FAIL() << report(p, *found);
    }
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  std::printf("%llu programs in %.2f s\n", static_cast<unsigned long long>(given.programs),
              passed.count());
}

// They share the devices and the default streams.
TEST_F(ProgramTest, ProgramsOfSeveralThreadsDoNotDisturbOneAnother) {
  machine on = machine_of_the_table();
  on.alone = false;
  on.largest = std::min<std::size_t>(on.largest, device_info().memory_size / 256);
  const options& given = given_options();
  std::atomic<uint64_t> next{0};
  in_threads(4, [&](int) {
    for (uint64_t i = next++; i < given.programs; i = next++) {
      const program p = generate(given.seed + i, on);
      if (const auto found = run(p)) {
        throw std::runtime_error("program of seed " + std::to_string(p.seed) + ", operation " +
                                 std::to_string(found->operation) + ": " + found->text + "\n" +
                                 text_of(p));
      }
    }
  });
}

}  // namespace
}  // namespace outback::suite
