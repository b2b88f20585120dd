// Streams: order, query, sync, and the end of a stream.
#include <algorithm>
#include <deque>
#include <limits>
#include <set>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class StreamTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS_GROUP(streams);
  }

  busy_work busy_;
};

TEST_F(StreamTest, WorkRunsInTheOrderOfItsEnqueueing) {
  stream s;
  memory a(big()), b(big());
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(a, round, s);
    a.copy_to(b, s);
    a.fill(100 + round, s);
    EXPECT_TRUE(same(b.ends(s), all(64, round)));
    EXPECT_TRUE(same(a.ends(s), all(64, 100 + round)));
  }
}

// Small work may take another path than big work, and must not overtake it.
TEST_F(StreamTest, SmallWorkDoesNotOvertakeBigWork) {
  stream s;
  memory data(big());
  const bytes tail = noise(16, 1);
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(data, round, s);
    bytes before(16);
    check(
        table().mem_copy(table().self, before.data(), OUTBACK_HOST, data.at(big() - 16), 0, 16, s),
        "mem_copy");
    check(table().mem_copy(table().self, data.at(big() - 16), 0, tail.data(), OUTBACK_HOST, 16, s),
          "mem_copy");
    bytes expected = all(64, round);
    std::copy(tail.begin(), tail.end(), expected.end() - 16);
    EXPECT_TRUE(same(data.ends(s), expected));
    EXPECT_TRUE(same(before, all(16, round)));
  }
}

TEST_F(StreamTest, AnIdleStreamIsReady) {
  stream s;
  EXPECT_OK(table().streams->query(table().self, 0, s));
  EXPECT_OK(table().streams->sync(table().self, 0, s));
}

// Read through another stream, which waits for nothing: only the answer says that the work is done.
TEST_F(StreamTest, AfterSyncTheWorkIsDone) {
  stream s, other;
  memory data(big());
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(data, round, s);
    s.sync();
    EXPECT_TRUE(same(data.ends(other), all(64, round)));
  }
}

TEST_F(StreamTest, OnceQueryIsReadyTheWorkIsDone) {
  stream s, other;
  memory data(big());
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(data, round, s);
    s.poll();
    EXPECT_TRUE(same(data.ends(other), all(64, round)));
  }
}

TEST_F(StreamTest, DeviceSyncWaitsForEveryStream) {
  std::deque<stream> streams(4);
  std::deque<memory> data;
  for (auto& s : streams) busy_.fill(data.emplace_back(big()), 1, s);
  check(table().device_sync(table().self, 0), "device_sync");
  stream other;
  for (auto& m : data) EXPECT_TRUE(same(m.ends(other), all(64, 1)));
}

TEST_F(StreamTest, TheDefaultStreamIsAStream) {
  memory data(big());
  busy_.fill(data, 3, nullptr);
  EXPECT_OK(table().streams->sync(table().self, 0, nullptr));
  EXPECT_OK(table().streams->query(table().self, 0, nullptr));
  stream other;
  EXPECT_TRUE(same(data.ends(other), all(64, 3)));
}

TEST_F(StreamTest, QueuedWorkOutlivesItsStream) {
  stream other;
  for (int round = 1; round <= 3; ++round) {
    memory data(big());
    {
      stream s;
      busy_.fill(data, round, s);
      data.fill(100 + round, s);
      s.destroy();
    }
    EXPECT_OK(table().device_sync(table().self, 0));
    EXPECT_TRUE(same(data.ends(other), all(64, 100 + round)));
  }
}

TEST_F(StreamTest, ManyStreamsAtOnce) {
  std::deque<stream> streams(64);
  std::set<outback_stream> handles(streams.begin(), streams.end());
  EXPECT_EQ(handles.size(), streams.size());
  std::deque<memory> data;
  for (std::size_t i = 0; i < streams.size(); ++i)
    data.emplace_back(std::size_t(1000)).fill(int(i), streams[i]);
  for (std::size_t i = 0; i < streams.size(); ++i)
    EXPECT_TRUE(same(data[i].ends(streams[i]), all(64, int(i))));
}

TEST_F(StreamTest, EveryDeviceHasStreams) {
  for (int32_t d = 0; d < device_count(); ++d) {
    stream s(d);
    memory data(big(), d);
    data.fill(d + 1, s);
    EXPECT_TRUE(same(data.ends(s), all(64, d + 1)));
  }
}

TEST_F(StreamTest, ZeroIsAmongThePriorities) {
  int32_t least = -100, greatest = 100;
  EXPECT_OK(table().streams->priorities(table().self, 0, &least, &greatest));
  EXPECT_GE(least, 0);
  EXPECT_LE(greatest, 0);
}

TEST_F(StreamTest, PrioritiesAreClamped) {
  using limits = std::numeric_limits<int32_t>;
  for (const int32_t priority : {limits::min(), -1, 0, 1, limits::max()}) {
    outback_stream s = nullptr;
    EXPECT_OK(table().streams->create(table().self, 0, priority, &s)) << priority;
    EXPECT_OK(table().streams->sync(table().self, 0, s));
    EXPECT_OK(table().streams->destroy(table().self, 0, s));
  }
}

}  // namespace
}  // namespace outback::suite
