// Random calls through validation, over each kind of runtime: nothing crashes, what is wrong is
// refused with a text and leaves no trace, and what is freed is gone.
//
//   OUTBACK_FUZZ_CALLS=1000000   calls of each table; 60000
//   OUTBACK_FUZZ_SEED=7          of the random bytes; 1
//
// With clang, layers_fuzzer is the same for libFuzzer: the first byte chooses the table.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "backend_template/runtimes/null/null.h"
#include "tests/layers/fuzz_calls.hpp"
#include "tests/layers/layers_testing.hpp"

namespace outback::layers {
namespace {

// Its devices take any memory at all. Said otherwise, only what was allocated gets to them.
const outback_runtime* null_table_apart() {
  static outback_runtime table = *outback_null_runtime();
  table.device_info = [](void* self, int32_t device, outback_device_info* info) {
    const outback_status status = outback_null_runtime()->device_info(self, device, info);
    const bool has_flags = status == OUTBACK_OK && info->struct_size >= 8;
    if (has_flags) info->flags &= ~uint32_t{OUTBACK_HOST_ADDRESSABLE | OUTBACK_ADDRESSES_HOST};
    const bool has_kernels = info->struct_size >= offsetof(outback_device_info, compute_units);
    if (status == OUTBACK_OK && has_kernels) info->kernels_of = 0;
    return status;
  };
  return &table;
}

const std::vector<fuzz_table>& tables() {
  static const std::vector<fuzz_table> all = {
      {"host", validate(host_table())},
      {"null", validate(null_table_apart())},
      {"whole", validate(whole_table()), whole_table()},
  };
  return all;
}

}  // namespace
}  // namespace outback::layers

#ifdef OUTBACK_LIBFUZZER

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace outback::layers;
  if (size == 0) return 0;
  fuzz_run run(tables()[data[0] % tables().size()], std::span(data, size).subspan(1));
  if (const std::string problem = run.run(); !problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    std::abort();
  }
  return 0;
}

#else

#include <gtest/gtest.h>

namespace outback::layers {
namespace {

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

class FuzzTest : public testing::TestWithParam<std::size_t> {};

TEST_P(FuzzTest, RandomCalls) {
  const fuzz_table& table = tables()[GetParam()];
  const uint64_t wanted = number_from("OUTBACK_FUZZ_CALLS", 60000);
  const uint64_t seed = number_from("OUTBACK_FUZZ_SEED", 1);
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes(8192);
  std::size_t calls = 0;
  std::map<std::string, std::size_t> successes;
  for (int round = 0; calls < wanted; ++round) {
    for (uint8_t& each : bytes) each = uint8_t(random());
    fuzz_run run(table, bytes);
    const std::string problem = run.run();
    calls += run.calls();
    for (const auto& [slot, count] : run.successes()) successes[slot] += count;
    ASSERT_EQ(problem, "") << "OUTBACK_FUZZ_SEED=" << seed << ", round " << round;
  }
  // Neither all nonsense nor all sense: each slot was reached, with arguments that were right.
  std::size_t all = 0;
  for (const auto& [slot, count] : successes) all += count;
  EXPECT_LT(all, calls / 10 * 9);
  if (wanted < 60000) return;
  slots::for_each_slot([&](auto slot) {
    using Slot = decltype(slot);
    if (slots::function_in<Slot>(*table.validated) == nullptr) return;
    // Memory of another process needs one.
    constexpr bool foreign = std::is_same_v<Slot, slots::ipc_open_memory> ||
                             std::is_same_v<Slot, slots::ipc_close_memory> ||
                             std::is_same_v<Slot, slots::ipc_open_event>;
    if (foreign && table.other == nullptr) return;
    EXPECT_GE(successes[Slot::name], 1u) << Slot::name;
  });
}

INSTANTIATE_TEST_SUITE_P(All, FuzzTest, testing::Range<std::size_t>(0, 3),
                         [](const auto& info) { return tables()[info.param].name; });

}  // namespace
}  // namespace outback::layers

#endif
