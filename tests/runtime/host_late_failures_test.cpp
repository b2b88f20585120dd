// host_options::fail_work: which piece of work fails, what it leaves undone, and who reports it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {
namespace {

using testing::HasSubstr;

// The parameter is the adversary's seed: with one, all work runs on the stream's thread.
class HostLateFailuresTest : public testing::TestWithParam<uint64_t> {
 protected:
  // A runtime whose piece of work number `n` fails.
  static host_runtime failing(uint64_t n) {
    return host_runtime(
        {.devices = 2, .memory_size = 1 << 20, .adversarial = GetParam(), .fail_work = n});
  }
  static void fill(host_runtime& host, void* to, outback_stream stream = nullptr) {
    const unsigned char seven = 7;
    host.mem_fill(0, to, 1, &seven, 1, stream);
  }
  // What the call reports, or "".
  template <class Call>
  static std::string reported(const Call& call) {
    try {
      call();
    } catch (const runtime_error& error) {
      EXPECT_EQ(error.status(), OUTBACK_INTERNAL);
      return error.what();
    }
    return "";
  }
  // Asks until the work is over.
  template <class Query>
  static void poll(const Query& is_over) {
    while (!is_over()) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
};

TEST_P(HostLateFailuresTest, TheNthPieceFailsAndWritesNothing) {
  host_runtime host = failing(2);
  auto* const memory = static_cast<unsigned char*>(host.mem_alloc(0, 64));
  memory[1] = 1;
  for (int i = 0; i < 3; ++i) fill(host, memory + i);
  EXPECT_THAT(reported([&] { host.stream_sync(0, nullptr); }),
              HasSubstr("piece of work number 2, a fill, failed"));
  EXPECT_EQ(memory[0], 7);
  EXPECT_EQ(memory[1], 1);
  EXPECT_EQ(memory[2], 7);
}

TEST_P(HostLateFailuresTest, OneCallReportsItOnce) {
  using reporter = std::function<void(host_runtime&, outback_event)>;
  const reporter reporters[] = {
      [](auto& host, auto) { host.stream_sync(0, nullptr); },
      [](auto& host, auto) { host.device_sync(0); },
      [](auto& host, auto) { poll([&] { return host.stream_query(0, nullptr); }); },
      [](auto& host, auto behind) { host.event_sync(0, behind); },
      [](auto& host, auto behind) { poll([&] { return host.event_query(0, behind); }); },
  };
  for (const reporter& first : reporters) {
    host_runtime host = failing(1);
    const outback_event behind = host.event_create(0, 0);
    fill(host, host.mem_alloc(0, 64));
    host.event_record(0, behind, nullptr);
    EXPECT_NE(reported([&] { first(host, behind); }), "");
    for (const reporter& later : reporters) {
      EXPECT_EQ(reported([&] { later(host, behind); }), "");
    }
    host.event_destroy(0, behind);
  }
}

TEST_P(HostLateFailuresTest, OthersDoNotReportIt) {
  host_runtime host = failing(1);
  const outback_stream other = host.stream_create(0, 0);
  const outback_event before = host.event_create(0, 0), elsewhere = host.event_create(0, 0);
  auto* const memory = static_cast<unsigned char*>(host.mem_alloc(0, 64));
  host.event_record(0, before, nullptr);
  fill(host, memory);
  fill(host, memory + 1, other);
  host.event_record(0, elsewhere, other);
  unsigned char pageable = 0;
  EXPECT_EQ(reported([&] {
              host.event_sync(0, before);
              host.event_sync(0, elsewhere);
              host.stream_sync(0, other);
              host.device_sync(1);
              host.mem_copy(&pageable, OUTBACK_HOST, memory + 1, 0, 1, nullptr);
            }),
            "");
  EXPECT_NE(reported([&] { host.device_sync(0); }), "");
  host.event_destroy(0, before);
  host.event_destroy(0, elsewhere);
}

TEST_P(HostLateFailuresTest, ADestroyedStreamLeavesItToTheDevice) {
  host_runtime host = failing(1);
  const outback_stream gone = host.stream_create(0, 0);
  fill(host, host.mem_alloc(0, 64), gone);
  host.stream_destroy(0, gone);
  EXPECT_NE(reported([&] { host.device_sync(0); }), "");
  EXPECT_EQ(reported([&] { host.device_sync(0); }), "");
}

TEST_P(HostLateFailuresTest, CallbacksAndLaunchesRunAllTheSame) {
  host_runtime host = failing(2);
  auto* const memory = static_cast<unsigned char*>(host.mem_alloc(0, 64));
  const outback_stream stream = host.stream_create(0, 0);
  host.graph_begin(0, stream);
  fill(host, memory, stream);  // captured, so it does not count
  const outback_graph graph = host.graph_end(0, stream);
  host.graph_instantiate(0, graph);
  bool has_run = false;
  const auto run = [](void* flag) { *static_cast<bool*>(flag) = true; };
  host.callback_enqueue(0, run, &has_run, stream);
  host.graph_launch(0, graph, stream);
  EXPECT_THAT(reported([&] { host.stream_sync(0, stream); }),
              HasSubstr("number 2, a launch of a graph"));
  EXPECT_TRUE(has_run);
  EXPECT_EQ(memory[0], 7);
  memory[0] = 0;
  host.graph_launch(0, graph, stream);  // waits for the launch before it
  EXPECT_EQ(reported([&] { host.stream_sync(0, stream); }), "");
  EXPECT_EQ(memory[0], 7);
  host.graph_destroy(0, graph);
}

INSTANTIATE_TEST_SUITE_P(Seeds, HostLateFailuresTest, testing::Values(0, 7));

}  // namespace
}  // namespace outback::host
