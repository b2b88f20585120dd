// Every entry point that the runtime calls fails once, in each of its first calls: the slot says
// so, with the driver's name for it; nothing is lost, and everything goes on.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "tests/runtime/level_zero/own_process.hpp"
#include "tests/runtime/level_zero/workload.hpp"

namespace outback::test_level_zero {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct answer {
  uint32_t result;
  outback_status status;
  const char* name;
};
constexpr answer answers[] = {
    {0x70000002, OUTBACK_OUT_OF_MEMORY, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY (0x70000002)"},
    {0x78000003, OUTBACK_UNSUPPORTED, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE (0x78000003)"},
    {0x7ffffffe, OUTBACK_INTERNAL, "ZE_RESULT_ERROR_UNKNOWN (0x7ffffffe)"},
};

// A slot does without these, so their failure is no slot's.
const std::set<std::string> optional_calls = {"zeDevicePciGetPropertiesExt", "zeMemPutIpcHandle",
                                              "zeModuleBuildLogDestroy", "zeKernelDestroy",
                                              "zeModuleDestroy"};

// A barrier behind a command is tried again before the next one, a slot that may be used again is
// asked another time, and a gate is opened in a second attempt.
const std::set<std::string> tried_again = {"zeCommandListAppendBarrier", "zeEventQueryStatus",
                                           "zeEventHostSignal"};

bool is_optional(const std::string& name) {
  return name.starts_with("zes") || optional_calls.contains(name);
}

// What the runtime has after a run, beside what it keeps to use it again.
struct footprint {
  uint64_t device_memory = live("device memory"), imported = live("imported memory");
};

// Lets call number `nth` of `name` fail. False: there was no such call.
bool expect_survives(const char* name, uint32_t nth, const answer& how) {
  SCOPED_TRACE(testing::Message() << name << ", call " << nth << ": " << how.name);
  const uint64_t before = calls(name);
  OUTBACK_ZE_CONTROL(outback_ze_fail)(name, nth, how.result);
  workload work(table());
  const auto failures = work.run();
  const bool happened = calls(name) - before >= nth;
  OUTBACK_ZE_CONTROL(outback_ze_clear_failures)();

  EXPECT_EQ(work.wrong_bytes(), 0u);
  std::size_t told = 0;
  for (const failure& each : failures) {
    if (!each.text.starts_with(std::string(name) + ": ")) continue;
    ++told;
    EXPECT_EQ(each.status, how.status) << each.slot << ": " << each.text;
    EXPECT_THAT(each.text, HasSubstr(how.name)) << each.slot;
  }
  for (const failure& each : failures) {
    EXPECT_THAT(each.text, StartsWith(name)) << each.slot << " failed of something else";
  }
  EXPECT_LE(told, 1u) << "one failure was told " << told << " times";
  if (happened && !is_optional(name) && !tried_again.contains(name)) {
    EXPECT_EQ(told, 1u) << "nobody was told";
  }
  for (const failure& left : work.clean_up()) {
    ADD_FAILURE() << left.slot << " cannot give back: " << left.text;
  }
  const footprint after;
  EXPECT_EQ(after.device_memory, 0u);
  EXPECT_EQ(after.imported, 0u);
  return happened;
}

// What a run without faults calls, and how often: at most `most` of each is worth trying.
std::map<std::string, uint32_t> calls_of_a_run(uint32_t most) {
  const auto name = &OUTBACK_ZE_CONTROL(outback_ze_entry_point);
  std::map<std::string, uint32_t> made;
  for (std::size_t i = 0; name(i) != nullptr; ++i) made[name(i)] = uint32_t(calls(name(i)));
  workload work(table());
  for (const failure& each : work.run()) ADD_FAILURE() << each.slot << ": " << each.text;
  EXPECT_EQ(work.wrong_bytes(), 0u);
  for (auto& [each, count] : made) {
    count = std::min(uint32_t(calls(each.c_str())) - count, most);
  }
  std::erase_if(made, [](const auto& each) { return each.second == 0; });
  return made;
}

void expect_all_entry_points_may_fail() {
  ASSERT_EQ(device_count(), 2);
  calls_of_a_run(1);  // makes what is made once
  std::size_t which = 0;
  const auto called = calls_of_a_run(5);
  EXPECT_GT(called.size(), 10u);
  for (const auto& [name, count] : called) {
    for (uint32_t nth = 1; nth <= count; ++nth) {
      expect_survives(name.c_str(), nth, answers[which++ % std::size(answers)]);
    }
  }
  calls_of_a_run(1);
}

TEST(FaultsTest, InOrder) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"ZES_ENABLE_SYSMAN", "1"}}), expect_all_entry_points_may_fail());
}

TEST(FaultsTest, ByBarriersWithoutPeers) {
  OUTBACK_IN_ITS_OWN_PROCESS(
      ({{"OUTBACK_ZE_IN_ORDER", "0"}, {"OUTBACK_ZE_FILL_PATTERN", "4"}, {"OUTBACK_ZE_PEER", "0"}}),
      expect_all_entry_points_may_fail());
}

TEST(FaultsTest, ByANewerLoader) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_LOADER", newer_loader}}),
                             expect_all_entry_points_may_fail());
}

// What only a process that just began calls.
TEST(FaultsTest, TheFirstCallsOfAProcess) {
  for (const char* call :
       {"zeContextCreate", "zeCommandListCreateImmediate", "zeEventPoolCreate", "zeEventCreate",
        "zeMemAllocHost", "zeDeviceGetComputeProperties", "zeDeviceGetMemoryProperties",
        "zeDeviceGetMemoryAccessProperties", "zeDeviceGetModuleProperties",
        "zeDeviceGetCommandQueueGroupProperties"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({}), {
      EXPECT_EQ(device_count(), 2);
      for (uint32_t nth = 1; nth <= 3; ++nth) {
        expect_survives(call, nth, answers[0]);
      }
      EXPECT_LE(live("event pool"), 2u);
      workload work(table());
      EXPECT_TRUE(work.run().empty());
    });
  }
}

TEST(FaultsTest, OutOfMemoryHasThreeNames) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    EXPECT_EQ(device_count(), 2);
    for (const uint32_t result : {0x70000002u, 0x70000003u, 0x78000009u}) {
      OUTBACK_ZE_CONTROL(outback_ze_fail)("zeMemAllocDevice", 1, result);
      void* ptr = &ptr;
      EXPECT_EQ(table().mem_alloc(table().self, 0, 64, &ptr), OUTBACK_OUT_OF_MEMORY) << result;
      EXPECT_EQ(ptr, &ptr);
      EXPECT_THAT(last_error(), StartsWith("zeMemAllocDevice: ZE_RESULT_ERROR_"));
    }
  });
}

TEST(FaultsTest, AStreamIsGoneAlsoIfItsEndFailed) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const outback_runtime& t = table();
    void* ptr = nullptr;
    outback_stream s = nullptr;
    must(t.mem_alloc(t.self, 0, 4096, &ptr));
    must(t.streams->create(t.self, 0, 0, &s));
    must(t.mem_fill(t.self, 0, ptr, 4096, "x", 1, s));
    OUTBACK_ZE_CONTROL(outback_ze_fail)("zeCommandListAppendBarrier", 1, 0x7ffffffe);
    EXPECT_EQ(t.streams->destroy(t.self, 0, s), OUTBACK_INTERNAL);
    EXPECT_EQ(t.streams->destroy(t.self, 0, s), OUTBACK_INVALID_ARGUMENT);
    must(t.device_sync(t.self, 0));
    must(t.streams->create(t.self, 0, 0, &s));  // the list is used again
    EXPECT_EQ(live("command list"), 1u);
    must(t.streams->destroy(t.self, 0, s));
  });
}

// More recordings are pending than there are places for.
TEST(FaultsTest, ARecordingThatFailsDoesNotWaitForOthers) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    alarm(60);
    const outback_runtime& t = table();
    outback_event e = nullptr;
    must(t.device_sync(t.self, 0));
    must(t.events->create(t.self, 0, OUTBACK_EVENT_INTERPROCESS, &e));
    OUTBACK_ZE_CONTROL(outback_ze_pause)();
    for (int i = 0; i < 300; ++i) must(t.events->record(t.self, 0, e, nullptr));
    OUTBACK_ZE_CONTROL(outback_ze_fail)("zeCommandListAppendBarrier", 1, 0x7ffffffe);
    EXPECT_EQ(t.events->record(t.self, 0, e, nullptr), OUTBACK_INTERNAL);
    OUTBACK_ZE_CONTROL(outback_ze_resume)();
    must(t.events->sync(t.self, 0, e));  // nobody waits for the one that failed
    must(t.device_sync(t.self, 0));
    must(t.events->destroy(t.self, 0, e));
  });
}

// The queue goes on, the callback does not run, and the next sync says why, once.
TEST(FaultsTest, ACallbackThatIsNotReached) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    const outback_runtime& t = table();
    static std::atomic<int> runs;
    outback_stream s = nullptr;
    must(t.streams->create(t.self, 0, 0, &s));
    must(t.streams->sync(t.self, 0, s));
    OUTBACK_ZE_CONTROL(outback_ze_fail)("zeEventHostSynchronize", 1, 0x7ffffffe);
    must(t.callbacks->enqueue(t.self, 0, [](void*) { ++runs; }, nullptr, s));
    while (t.streams->query(t.self, 0, s) == OUTBACK_NOT_READY) {
    }
    EXPECT_THAT(last_error(), StartsWith("zeEventHostSynchronize: ZE_RESULT_ERROR_UNKNOWN"));
    EXPECT_EQ(t.streams->sync(t.self, 0, s), OUTBACK_OK);
    EXPECT_EQ(runs, 0);
    must(t.callbacks->enqueue(t.self, 0, [](void*) { ++runs; }, nullptr, s));
    must(t.streams->sync(t.self, 0, s));
    EXPECT_EQ(runs, 1);
  });
}

}  // namespace
}  // namespace outback::test_level_zero
