// Objects that come and go leave nothing behind in the process: no memory, descriptors or threads.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

// They keep freed memory, have leak detectors of their own, and take ten times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#else
constexpr bool sanitized = false;
#endif

constexpr int many = sanitized ? 1000 : 2000;
constexpr int few = 50;          // of what starts threads
constexpr int most_rounds = 50;  // of either, before memory that still grows is a leak

// What so many cycles may leave in memory: 26 bytes each. What starts threads leaves more: stacks,
// and the heaps that belong to threads.
constexpr long most_kib(int cycles) {
  return cycles == few ? 256 : cycles * 26L / 1024;
}

class GrowthTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS(std::filesystem::exists("/proc/self/task"), "Linux's /proc");
  }

  struct footprint {
    long resident_kib;
    std::ptrdiff_t descriptors, threads;
  };

  static std::ptrdiff_t entries(const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder),
                         std::filesystem::directory_iterator());
  }

  static footprint now() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
      long resident = 0;
      if (word == "VmRSS:" && status >> resident) {
        return {resident, entries("/proc/self/fd"), entries("/proc/self/task")};
      }
    }
    throw std::runtime_error("/proc/self/status has no VmRSS");
  }

  // A thread that was told to end may take a while; one that was forgotten is there for ever.
  static footprint when_threads_ended(std::ptrdiff_t as_many_as) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    footprint f = now();
    while (f.threads > as_many_as && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));  // to look takes the CPU a while
      f = now();
    }
    return f;
  }

  // Caches fill up, heaps find their size, and who checks handles remembers some that are gone: it
  // is a leak only if it goes on and on.
  static void expect_no_growth(const std::function<void()>& cycle, int cycles = many) {
    for (int i = 0; i < cycles / 2; ++i) cycle();
    const footprint first = now();
    footprint before = first;
    std::string grown;
    for (int round = 0; round < most_rounds; ++round) {
      for (int i = 0; i < cycles; ++i) cycle();
      const footprint after = when_threads_ended(first.threads);
      const long kib = after.resident_kib - before.resident_kib;
      ASSERT_LE(after.descriptors, first.descriptors) << "descriptors were left open";
      ASSERT_LE(after.threads, first.threads) << "threads were left running";
      if (sanitized || kib <= most_kib(cycles)) return;
      grown += " " + std::to_string(kib);
      before = after;
    }
    ADD_FAILURE() << "resident memory grew by" << grown << " KiB in rounds of " << cycles
                  << " cycles";
  }
};

TEST_F(GrowthTest, OfStreams) {
  OUTBACK_NEEDS_GROUP(streams);
  expect_no_growth([] { stream s; });
}

// Small work may be done by the calling thread, and big work by one that the stream has to start.
TEST_F(GrowthTest, OfStreamsThatWorked) {
  OUTBACK_NEEDS_GROUP(events);
  for (const bool small : {true, false}) {
    SCOPED_TRACE(small);
    memory data(small ? 4096 : big());
    event done;
    const auto cycle = [&] {
      stream first, second;
      data.fill(1, first);
      done.record(first);
      done.wait(second);
      data.fill(2, second);
      done.record(second);
      first.destroy();  // perhaps with work queued
      second.destroy();
      done.sync();
    };
    expect_no_growth(cycle, small ? many : few);
  }
}

TEST_F(GrowthTest, OfEvents) {
  OUTBACK_NEEDS_GROUP(events);
  for (const uint32_t flags : {0u, 1u * OUTBACK_EVENT_TIMING, 1u * OUTBACK_EVENT_BLOCKING}) {
    SCOPED_TRACE(flags);
    expect_no_growth([&] {
      event e(flags);
      e.record(nullptr);
      e.sync();
    });
  }
}

TEST_F(GrowthTest, OfDeviceMemory) {
  const std::byte zero{};
  expect_no_growth([&] {
    void* ptr = nullptr;
    check(table().mem_alloc(table().self, 0, 4096, &ptr), "mem_alloc");
    check_memory(ptr, 4096, "mem_alloc");
    check(table().mem_fill(table().self, 0, ptr, 4096, &zero, 1, nullptr), "mem_fill");
    check(table().device_sync(table().self, 0), "device_sync");
    check(table().mem_free(table().self, 0, ptr), "mem_free");
  });
}

TEST_F(GrowthTest, OfPinnedMemory) {
  OUTBACK_NEEDS_GROUP(host_memory);
  expect_no_growth([] {
    void* ptr = nullptr;
    check(table().host_memory->alloc(table().self, 4096, &ptr), "host_memory.alloc");
    check_memory(ptr, 4096, "host_memory.alloc");
    check_reach(ptr, 4096, "host_memory.alloc");
    *static_cast<volatile std::byte*>(ptr) = std::byte{1};
    check(table().host_memory->free(table().self, ptr), "host_memory.free");
  });
}

TEST_F(GrowthTest, OfGraphs) {
  OUTBACK_NEEDS(table().graphs != nullptr, "graphs");
  const outback_graphs& graphs = *table().graphs;
  void* const self = table().self;
  memory data(4096);
  stream s;
  expect_no_growth([&] {
    outback_graph graph = nullptr;
    check(graphs.begin(self, 0, s), "graphs.begin");
    data.fill(1, s);
    check(graphs.end(self, 0, s, &graph), "graphs.end");
    check(graphs.instantiate(self, 0, graph), "graphs.instantiate");
    check(graphs.launch(self, 0, graph, s), "graphs.launch");
    s.sync();
    check(graphs.destroy(self, 0, graph), "graphs.destroy");
  });
}

// What fails makes nothing either.
TEST_F(GrowthTest, OfRefusedCalls) {
  expect_no_growth([] {
    void* ptr = nullptr;
    if (table().mem_alloc(table().self, -2, 64, &ptr) == OUTBACK_OK) {
      throw std::runtime_error("device -2 has memory");
    }
  });
}

}  // namespace
}  // namespace outback::suite
