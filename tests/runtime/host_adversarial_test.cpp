// The adversarial host runtime: what it does, and that its graphs find a wait that was forgotten.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {
namespace {

constexpr uint64_t seeds = 200;

host_options with_seed(uint64_t seed) {
  return {.devices = 1, .memory_size = 1 << 20, .adversarial = seed};
}

// Copies on one stream of a graph and reads on another, with or without the event between them.
// No thread is involved: the seed alone decides. Whether what was read is right.
bool read_elsewhere_in_a_graph(uint64_t seed, bool waits) {
  host_runtime host(with_seed(seed));
  const outback_stream a = host.stream_create(0, 0), b = host.stream_create(0, 0);
  const outback_event fork = host.event_create(0, 0), e = host.event_create(0, 0);
  auto* data = static_cast<char*>(host.mem_alloc(0, 3));
  std::memcpy(data, "\1\2\3", 3);
  host.graph_begin(0, a);
  host.event_record(0, fork, a);
  host.event_wait(0, fork, b);
  host.mem_copy(data + 1, 0, data, 0, 1, a);
  if (waits) {
    host.event_record(0, e, a);
    host.event_wait(0, e, b);
  }
  host.mem_copy(data + 2, 0, data + 1, 0, 1, b);
  host.event_record(0, e, b);
  host.event_wait(0, e, a);
  const outback_graph g = host.graph_end(0, a);
  host.graph_instantiate(0, g);
  host.graph_launch(0, g, a);
  host.device_sync(0);
  host.graph_destroy(0, g);
  for (const outback_event each : {fork, e}) host.event_destroy(0, each);
  return data[2] == 1;
}

TEST(HostAdversarialTest, AMissingWaitInAGraphIsFoundByHalfOfTheSeeds) {
  uint64_t wrong = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    wrong += read_elsewhere_in_a_graph(seed, false) ? 0 : 1;
  EXPECT_GT(wrong, seeds / 4);
  EXPECT_LT(wrong, seeds * 3 / 4);
}

TEST(HostAdversarialTest, AGraphThatWaitsIsRight) {
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    EXPECT_TRUE(read_elsewhere_in_a_graph(seed, true)) << seed;
}

// Work of four streams, ten pieces each, with a barrier of events after the fifth: every launch
// runs it in an order of its own, in which the streams' own orders and the barrier hold.
TEST(HostAdversarialTest, LaunchesRunInManyOrders) {
  host_runtime host(with_seed(1));
  struct entry {
    std::string* order;
    char letter;
  };
  std::string order;
  std::vector<entry> letters;
  for (const char letter : std::string("abcdABCD")) letters.push_back({&order, letter});
  std::vector<outback_stream> streams;
  for (int i = 0; i < 4; ++i) streams.push_back(host.stream_create(0, 0));
  const outback_event e = host.event_create(0, 0);
  const auto all_wait_for_all = [&] {
    for (int i = 1; i < 4; ++i) {
      host.event_record(0, e, streams[std::size_t(i)]);
      host.event_wait(0, e, streams[0]);
    }
    host.event_record(0, e, streams[0]);
    for (int i = 1; i < 4; ++i) host.event_wait(0, e, streams[std::size_t(i)]);
  };
  host.graph_begin(0, streams[0]);
  host.event_record(0, e, streams[0]);
  for (int i = 1; i < 4; ++i) host.event_wait(0, e, streams[std::size_t(i)]);
  for (const std::size_t half : {0, 4}) {
    for (std::size_t i = 0; i < 20; ++i) {
      host.callback_enqueue(
          0,
          [](void* data) {
            const auto* mine = static_cast<const entry*>(data);
            mine->order->push_back(mine->letter);
          },
          &letters[half + i % 4], streams[i % 4]);
    }
    all_wait_for_all();
  }
  const outback_graph g = host.graph_end(0, streams[0]);
  host.graph_instantiate(0, g);
  std::set<std::string> orders;
  for (int launch = 0; launch < 20; ++launch) {
    order.clear();
    host.graph_launch(0, g, streams[0]);
    host.device_sync(0);
    EXPECT_EQ(order.size(), 40u);
    EXPECT_EQ(order.find_first_of("ABCD"), 20u) << order;
    EXPECT_GT(order.find_last_of("ABCD"), order.find_last_of("abcd")) << order;
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 10u);
  host.graph_destroy(0, g);
  host.event_destroy(0, e);
}

// No work on the calling thread, though the streams are idle and the work is small.
TEST(HostAdversarialTest, EventsAreReachedByTheStreamsThread) {
  int late = 0;
  for (uint64_t seed = 1; seed <= seeds && late == 0; ++seed) {
    host_runtime host(with_seed(seed));
    const outback_event e = host.event_create(0, 0);
    host.event_record(0, e, nullptr);
    if (!host.event_query(0, e)) ++late;
    host.event_sync(0, e);
    EXPECT_TRUE(host.event_query(0, e));
    host.event_destroy(0, e);
  }
  EXPECT_GT(late, 0);
}

// Half of 200 sleeps of 100 us on average are 10 ms, whatever else the machine does.
TEST(HostAdversarialTest, StreamsDawdle) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    host_runtime host(with_seed(seed));
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i) host.callback_enqueue(0, [](void*) {}, nullptr, nullptr);
    host.device_sync(0);
    EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(6)) << seed;
  }
}

TEST(HostAdversarialTest, APageableDestinationIsThereOnReturn) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    host_runtime host(with_seed(seed));
    void* data = host.mem_alloc(0, 64);
    host.mem_fill(0, data, 64, "\7", 1, nullptr);
    char seen = 0;
    host.mem_copy(&seen, OUTBACK_HOST, data, 0, 1, nullptr);
    EXPECT_EQ(seen, 7);
  }
}

}  // namespace
}  // namespace outback::host
