// Events: what they stand for, who waits for them, and the time between two.
#include <chrono>
#include <deque>
#include <thread>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class EventTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS_GROUP(events);
  }

  busy_work busy_;

  static outback_status elapsed(const event& from, const event& to, int64_t* ns) {
    return table().events->elapsed(table().self, from, to, ns);
  }
};

TEST_F(EventTest, AStreamThatWaitsSeesWhatWasEnqueuedBefore) {
  stream writer, reader;
  memory data(big()), copy(big());
  event e;
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(data, round, writer);
    e.record(writer);
    e.wait(reader);
    data.copy_to(copy, reader);
    EXPECT_TRUE(same(copy.ends(reader), all(64, round)));
  }
}

TEST_F(EventTest, StreamsOfAnotherDeviceWaitToo) {
  OUTBACK_NEEDS_TWO_DEVICES();
  stream writer(0), reader(1);
  memory data(big(), 0), there(big(), 1), copy(big(), 1);
  event e;
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(data, round, writer);
    data.copy_to(there, writer);
    e.record(writer);
    e.wait(reader, 1);
    there.copy_to(copy, reader);
    EXPECT_TRUE(same(copy.ends(reader), all(64, round)));
  }
}

TEST_F(EventTest, ManyStreamsWaitForOne) {
  stream writer;
  std::deque<stream> readers(4);
  std::deque<memory> copies;
  memory data(big());
  event e;
  busy_.fill(data, 9, writer);
  e.record(writer);
  for (auto& reader : readers) {
    e.wait(reader);
    data.copy_to(copies.emplace_back(big()), reader);
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(same(copies[i].ends(readers[i]), all(64, 9)));
}

TEST_F(EventTest, OneStreamWaitsForMany) {
  std::deque<stream> writers(4);
  stream reader;
  std::deque<memory> data;
  std::deque<event> events(4);
  for (std::size_t i = 0; i < 4; ++i) {
    busy_.fill(data.emplace_back(big()), int(i) + 1, writers[i]);
    events[i].record(writers[i]);
    events[i].wait(reader);
  }
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(same(data[i].ends(reader), all(64, int(i) + 1)));
}

TEST_F(EventTest, AfterSyncTheWorkIsDone) {
  stream writer, other;
  memory data(big());
  event e;
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(data, round, writer);
    e.record(writer);
    e.sync();
    EXPECT_TRUE(same(data.ends(other), all(64, round)));
  }
}

TEST_F(EventTest, OnceQueryIsReadyTheWorkIsDone) {
  stream writer, other;
  memory data(big());
  event e;
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(data, round, writer);
    e.record(writer);
    e.poll();
    EXPECT_TRUE(same(data.ends(other), all(64, round)));
  }
}

TEST_F(EventTest, OnTheDefaultStream) {
  stream reader;
  memory data(big()), copy(big());
  event e;
  busy_.fill(data, 4, nullptr);
  e.record(nullptr);
  e.wait(reader);
  data.copy_to(copy, reader);
  e.record(reader);
  e.wait(nullptr);
  EXPECT_TRUE(same(copy.read(), all(big(), 4)));
}

TEST_F(EventTest, NeverRecordedIsComplete) {
  stream s;
  memory data(64);
  event e;
  EXPECT_OK(table().events->query(table().self, 0, e));
  EXPECT_OK(table().events->sync(table().self, 0, e));
  EXPECT_OK(table().events->wait(table().self, 0, e, s));
  data.fill(1, s);
  EXPECT_TRUE(same(data.ends(s), all(64, 1)));
}

TEST_F(EventTest, RecordingAgainReplaces) {
  stream first, second, other;
  memory data(big());
  event e;
  for (int round = 1; round <= 3; ++round) {
    e.record(first);
    busy_.fill(data, round, second);
    e.record(second);
    e.sync();
    EXPECT_TRUE(same(data.ends(other), all(64, round)));
  }
}

// The second recording is of an idle stream, so an implementation that only keeps "the event was
// reached" lets the reader go too early.
TEST_F(EventTest, AWaitKeepsTheRecordingThatItSaw) {
  stream writer, reader, idle;
  memory data(big()), copy(big());
  event e;
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(data, round, writer);
    e.record(writer);
    e.wait(reader);
    e.record(idle);
    data.copy_to(copy, reader);
    EXPECT_TRUE(same(copy.ends(reader), all(64, round)));
  }
}

TEST_F(EventTest, AWaitOutlivesItsEvent) {
  stream writer, reader;
  memory data(big()), copy(big());
  for (int round = 1; round <= 3; ++round) {
    {
      event e;
      busy_.fill(data, round, writer);
      e.record(writer);
      e.wait(reader);
      e.destroy();
    }
    data.copy_to(copy, reader);
    EXPECT_TRUE(same(copy.ends(reader), all(64, round)));
  }
}

TEST_F(EventTest, EveryFlagButInterprocess) {
  for (const uint32_t flags : {0u, 1u * OUTBACK_EVENT_TIMING, 1u * OUTBACK_EVENT_BLOCKING, 3u}) {
    stream s;
    event e(flags);
    e.record(s);
    e.sync();
    e.poll();
  }
}

TEST_F(EventTest, ElapsedTimeFitsTheClock) {
  stream s;
  memory data(big());
  event begin(OUTBACK_EVENT_TIMING), middle(OUTBACK_EVENT_TIMING), end(OUTBACK_EVENT_TIMING);
  const auto before = std::chrono::steady_clock::now();
  begin.record(s);
  data.fill(1, s);
  middle.record(s);
  data.fill(2, s);
  end.record(s);
  end.sync();
  const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - before;
  int64_t first = 0, second = 0, both = 0, reversed = 0;
  EXPECT_OK(elapsed(begin, middle, &first));
  EXPECT_OK(elapsed(middle, end, &second));
  EXPECT_OK(elapsed(begin, end, &both));
  EXPECT_OK(elapsed(end, begin, &reversed));
  EXPECT_GT(first, 0);
  EXPECT_GT(second, 0);
  // 2 us: some clocks tick slowly, and some drivers answer in float milliseconds.
  EXPECT_NEAR(double(first + second), double(both), 2000);
  EXPECT_NEAR(double(reversed), double(-both), 2000);
  EXPECT_LE(both, wall.count() + 2000);
}

TEST_F(EventTest, ElapsedTimeIsInNanoseconds) {
  stream s;
  event begin(OUTBACK_EVENT_TIMING), end(OUTBACK_EVENT_TIMING);
  begin.record(s);
  begin.sync();
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  end.record(s);
  end.sync();
  int64_t ns = 0;
  EXPECT_OK(elapsed(begin, end, &ns));
  EXPECT_GE(ns, 9'900'000);  // a device's clock may differ from the host's by so much, not by more
}

TEST_F(EventTest, ElapsedTimeNeedsTiming) {
  stream s;
  event timed(OUTBACK_EVENT_TIMING), untimed;
  timed.record(s);
  untimed.record(s);
  s.sync();
  int64_t ns = -77;
  EXPECT_FAILS(elapsed(timed, untimed, &ns), OUTBACK_INVALID_ARGUMENT);
  EXPECT_FAILS(elapsed(untimed, timed, &ns), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(ns, -77);
}

TEST_F(EventTest, ElapsedTimeIsOfOneDevice) {
  OUTBACK_NEEDS_TWO_DEVICES();
  stream s;
  stream other(1);
  event here(OUTBACK_EVENT_TIMING), there(OUTBACK_EVENT_TIMING, 1);
  here.record(s);
  there.record(other);
  s.sync();
  other.sync();
  int64_t ns = -77;
  EXPECT_FAILS(elapsed(here, there, &ns), OUTBACK_INVALID_ARGUMENT);
  EXPECT_FAILS(elapsed(there, here, &ns), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(ns, -77);
}

TEST_F(EventTest, ElapsedTimeNeedsRecordings) {
  stream s;
  event recorded(OUTBACK_EVENT_TIMING), never(OUTBACK_EVENT_TIMING);
  recorded.record(s);
  s.sync();
  int64_t ns = -77;
  EXPECT_FAILS(elapsed(recorded, never, &ns), OUTBACK_INVALID_ARGUMENT);
  EXPECT_FAILS(elapsed(never, recorded, &ns), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(ns, -77);
}

// Whether the fill is over or not, the answer and the number go together.
TEST_F(EventTest, ElapsedTimeWhilePending) {
  stream s;
  busy_work busy;
  event begin(OUTBACK_EVENT_TIMING), end(OUTBACK_EVENT_TIMING);
  begin.record(s);
  busy.enqueue(s);
  end.record(s);
  int64_t ns = -77;
  const outback_status status = elapsed(begin, end, &ns);
  EXPECT_TRUE(status == OUTBACK_OK || status == OUTBACK_NOT_READY) << status;
  EXPECT_EQ(ns == -77, status == OUTBACK_NOT_READY);
  end.sync();
  EXPECT_OK(elapsed(begin, end, &ns));
  EXPECT_GT(ns, 0);
}

}  // namespace
}  // namespace outback::suite
