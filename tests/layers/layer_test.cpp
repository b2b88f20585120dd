// What all layers have in common: groups, slots, texts, and how the environment stacks them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "backend_template/runtimes/null/null.h"
#include "outback/detail/slots.hpp"
#include "tests/layers/layers_testing.hpp"

namespace outback::layers {
namespace {

using testing::HasSubstr;

std::vector<const outback_runtime*> each_layer_over(const outback_runtime* below) {
  return {validate(below), trace(below, "/dev/null"), inject(below, {}),
          select_devices(below, {0})};
}

TEST(LayerTest, EverySlotGoesThroughTheLayer) {
  const outback_runtime* below = whole_table();
  for (const outback_runtime* table : each_layer_over(below)) {
    EXPECT_EQ(table_problem(table), "");
    EXPECT_NE(table->self, below->self);
    EXPECT_NE(table->last_error, below->last_error);
    slots::for_each_slot([&](auto slot) {
      using Slot = decltype(slot);
      EXPECT_NE(slots::function_in<Slot>(*table), slots::function_in<Slot>(*below)) << Slot::name;
    });
  }
}

TEST(LayerTest, TheGroupsAreThoseBelow) {
  outback_runtime some = *host_table();
  some.host_memory = nullptr;
  some.host_registration = nullptr;  // which needs it
  for (const outback_runtime* below : {whole_table(), host_table(), outback_null_runtime(),
                                       static_cast<const outback_runtime*>(&some)}) {
    for (const outback_runtime* table : each_layer_over(below)) {
      EXPECT_EQ(table->struct_size, sizeof(outback_runtime));
      slots::for_each_group([&]<class Group>(Group) {
        EXPECT_EQ(table->*Group::pointer == nullptr, below->*Group::pointer == nullptr)
            << Group::name;
      });
    }
  }
}

// A runtime that was compiled when there were fewer groups.
TEST(LayerTest, AnOlderTableHasFewerGroups) {
  outback_runtime older = *whole_table();
  older.struct_size = offsetof(outback_runtime, events);
  for (const outback_runtime* table : each_layer_over(&older)) {
    EXPECT_NE(table->streams, nullptr);
    EXPECT_EQ(table->events, nullptr);
    EXPECT_EQ(table->device_state, nullptr);
    EXPECT_EQ(table->telemetry, nullptr);
  }
  older.struct_size = offsetof(outback_runtime, graphs);
  for (const outback_runtime* table : each_layer_over(&older)) {
    EXPECT_NE(table->ipc, nullptr);
    EXPECT_EQ(table->graphs, nullptr);
    EXPECT_EQ(table->telemetry, nullptr);
    EXPECT_EQ(table->activity, nullptr);
  }
}

TEST(LayerTest, ATableThatCannotBeUsedIsRefused) {
  outback_runtime half = *host_table();
  half.mem_fill = nullptr;
  EXPECT_THAT(refusal_of([&] { validate(&half); }), HasSubstr("no mem_fill"));
  EXPECT_THAT(refusal_of([&] { trace(&half, "/dev/null"); }), HasSubstr("no mem_fill"));
  EXPECT_THAT(refusal_of([&] { inject(&half, {}); }), HasSubstr("no mem_fill"));
}

TEST(LayerTest, TheTextIsThatOfWhoFailedLast) {
  const outback_runtime* disturbed = inject(host_table(), parse_faults("device_sync:2=internal"));
  const outback_runtime* t = validate(disturbed);
  const std::string injected = "injected fault: device_sync, call 2: internal";
  EXPECT_EQ(t->device_sync(t->self, 0), OUTBACK_OK);
  EXPECT_EQ(t->device_sync(t->self, 0), OUTBACK_INTERNAL);
  EXPECT_EQ(text_of(t), injected);
  EXPECT_EQ(t->device_sync(t->self, 5), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(text_of(t), HasSubstr("validation: device_sync"));
  EXPECT_EQ(t->device_sync(t->self, 0), OUTBACK_OK);
  EXPECT_THAT(text_of(t), HasSubstr("validation: device_sync")) << "a success takes no text away";
  void* ptr = nullptr;
  EXPECT_EQ(t->mem_alloc(t->self, 0, uint64_t{1} << 40, &ptr), OUTBACK_OUT_OF_MEMORY);
  EXPECT_THAT(text_of(t), HasSubstr("free of")) << "the runtime's own";
  std::string elsewhere = "not asked";
  std::thread([&] { elsewhere = text_of(t); }).join();
  EXPECT_EQ(elsewhere, "");
}

// ---- The environment

class EnvironmentTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : names) unsetenv(name);
  }
  void TearDown() override { SetUp(); }

  static constexpr const char* names[] = {"OUTBACK_VALIDATE", "OUTBACK_TRACE", "OUTBACK_FAULTS"};
  const outback_runtime* const below_ = host_table();
};

TEST_F(EnvironmentTest, NothingIsAskedForAndNothingIsThere) {
  EXPECT_EQ(from_environment(below_), below_);
  setenv("OUTBACK_VALIDATE", "0", 1);
  setenv("OUTBACK_TRACE", "", 1);
  setenv("OUTBACK_FAULTS", " ; ", 1);
  EXPECT_EQ(from_environment(below_), below_);
}

TEST_F(EnvironmentTest, FaultsAreBelowValidationAndTheTraceSeesBoth) {
  const std::string path = testing::TempDir() + "outback_layers_environment.txt";
  setenv("OUTBACK_VALIDATE", "1", 1);
  setenv("OUTBACK_TRACE", path.c_str(), 1);
  setenv("OUTBACK_FAULTS", "device_sync:1=unsupported", 1);
  const outback_runtime* t = from_environment(below_);
  EXPECT_EQ(t->device_sync(t->self, 9), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t->device_sync(t->self, 0), OUTBACK_UNSUPPORTED) << "a refused call is not counted";
  flush_trace(t);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("device_sync(device=9) = invalid_argument: validation: "));
  EXPECT_THAT(text.str(), HasSubstr("device_sync(device=0) = unsupported: injected fault: "));
}

TEST_F(EnvironmentTest, AWrongValueIsRefusedWithItsName) {
  setenv("OUTBACK_VALIDATE", "yes", 1);
  EXPECT_EQ(refusal_of([&] { from_environment(below_); }), "OUTBACK_VALIDATE=yes: expected 0 or 1");
  setenv("OUTBACK_VALIDATE", "0", 1);
  setenv("OUTBACK_FAULTS", "mem_alloc", 1);
  EXPECT_EQ(refusal_of([&] { from_environment(below_); }),
            "OUTBACK_FAULTS: faults \"mem_alloc\", at the end: expected : and which calls");
  setenv("OUTBACK_FAULTS", "", 1);
  setenv("OUTBACK_TRACE", "/no/such/folder/trace.json", 1);
  EXPECT_EQ(refusal_of([&] { from_environment(below_); }),
            "OUTBACK_TRACE: the trace \"/no/such/folder/trace.json\" cannot be written: No such "
            "file or directory");
  setenv("OUTBACK_TRACE", "/no/such/\xff.json", 1);
  EXPECT_EQ(refusal_of([&] { from_environment(below_); }),
            "OUTBACK_TRACE: the trace \"/no/such/\\xff.json\" cannot be written: No such file or "
            "directory");
}

// What a process is to be protected from: a name in a folder where others can write too.
TEST_F(EnvironmentTest, ATraceFollowsNoLink) {
  const std::string folder = testing::TempDir();
  const std::string precious = folder + "outback_layers_precious.txt";
  const std::string link = folder + "outback_layers_link.txt";
  std::ofstream(precious) << "precious";
  std::remove(link.c_str());
  ASSERT_EQ(symlink(precious.c_str(), link.c_str()), 0);
  setenv("OUTBACK_TRACE", link.c_str(), 1);
  EXPECT_EQ(refusal_of([&] { from_environment(below_); }),
            "OUTBACK_TRACE: the trace \"" + link +
                "\" cannot be written: it is a symbolic link, which a trace does not follow: name "
                "the file itself");
  std::string text;
  std::ifstream(precious) >> text;
  EXPECT_EQ(text, "precious");
  std::remove(link.c_str());
  std::remove(precious.c_str());
}

// A wrong value leaves no file behind: all of them are read first.
TEST_F(EnvironmentTest, AWrongValueMakesNothing) {
  const std::string path = testing::TempDir() + "outback_layers_never_made.txt";
  std::remove(path.c_str());
  setenv("OUTBACK_TRACE", path.c_str(), 1);
  setenv("OUTBACK_FAULTS", "x", 1);
  EXPECT_NE(refusal_of([&] { from_environment(below_); }), "");
  EXPECT_FALSE(std::ifstream(path).good());
}

// ---- Threads

void hammer(const outback_runtime* t, int thread, std::atomic<int>& failures) {
  const int32_t d = thread % 2;
  const auto expect = [&](outback_status status, outback_status want = OUTBACK_OK) {
    if (status != want) failures.fetch_add(1);
  };
  for (int round = 0; round < 200; ++round) {
    void *ptr = nullptr, *host = nullptr;
    outback_stream s = nullptr;
    outback_event e = nullptr;
    const uint32_t pattern = uint32_t(round);
    expect(t->mem_alloc(t->self, d, 4096, &ptr));
    expect(t->host_memory->alloc(t->self, 4096, &host));
    expect(t->streams->create(t->self, d, 0, &s));
    expect(t->events->create(t->self, d, 0, &e));
    expect(t->mem_fill(t->self, d, ptr, 4096, &pattern, 4, s));
    expect(t->mem_copy(t->self, host, OUTBACK_HOST, ptr, d, 4096, s));
    expect(t->events->record(t->self, d, e, s));
    expect(t->events->wait(t->self, 1 - d, e, nullptr));
    expect(t->events->sync(t->self, d, e));
    if (static_cast<uint32_t*>(host)[1023] != pattern) failures.fetch_add(1);
    expect(t->device_sync(t->self, 7), OUTBACK_INVALID_ARGUMENT);
    if (text_of(t).find("device is 7") == std::string::npos) failures.fetch_add(1);
    expect(t->events->destroy(t->self, d, e));
    expect(t->streams->destroy(t->self, d, s));
    expect(t->host_memory->free(t->self, host));
    expect(t->mem_free(t->self, d, ptr));
    expect(t->mem_free(t->self, d, nullptr));
  }
}

TEST(LayerThreadTest, EightThreadsThroughAllLayers) {
  const std::string path = testing::TempDir() + "outback_layers_threads.txt";
  const outback_runtime* disturbed = inject(host_table(), parse_faults("mem_copy:*/7=delay(1us)"));
  const outback_runtime* validated = validate(disturbed);
  const outback_runtime* t = trace(validated, path);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) threads.emplace_back([&, i] { hammer(t, i, failures); });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0);
  EXPECT_EQ(leaks(validated), "");

  flush_trace(t);
  std::ifstream file(path);
  std::set<std::string> numbers;
  std::size_t calls = 0;
  for (std::string line; std::getline(file, line);) {
    if (line[0] == '#') continue;
    std::istringstream words(line);
    std::string time, thread, call;
    words >> time >> thread >> call;
    numbers.insert(thread);
    ++calls;
    EXPECT_NE(call.find('('), std::string::npos) << line;
  }
  EXPECT_EQ(calls, 8u * 200 * 15);
  EXPECT_EQ(numbers.size(), 8u);
}

// Faults are counted once each, whoever calls.
TEST(LayerThreadTest, EveryTenthCallOfAllThreadsFails) {
  const outback_runtime* t = inject(host_table(), parse_faults("device_sync:*/10=internal"));
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 1000; ++round) {
        if (t->device_sync(t->self, 0) != OUTBACK_OK) failures.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 800);
}

// Exactly one of those who free the same memory has freed it.
TEST(LayerThreadTest, OnlyOneThreadFrees) {
  const outback_runtime* t = validate(host_table());
  for (int round = 0; round < 50; ++round) {
    void* ptr = nullptr;
    outback_stream s = nullptr;
    ASSERT_EQ(t->mem_alloc(t->self, 0, 64, &ptr), OUTBACK_OK);
    ASSERT_EQ(t->streams->create(t->self, 0, 0, &s), OUTBACK_OK);
    std::atomic<int> freed{0}, ended{0}, ready{0};
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        ready.fetch_add(1);
        while (ready.load() < 4) std::this_thread::yield();
        if (t->mem_free(t->self, 0, ptr) == OUTBACK_OK) freed.fetch_add(1);
        if (t->streams->destroy(t->self, 0, s) == OUTBACK_OK) ended.fetch_add(1);
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(freed.load(), 1);
    EXPECT_EQ(ended.load(), 1);
  }
}

}  // namespace
}  // namespace outback::layers
