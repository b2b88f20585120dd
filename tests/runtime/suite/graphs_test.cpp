// Graphs: what a capture takes in, what breaks it, and what a launch does.
#include <algorithm>
#include <deque>
#include <memory>
#include <stdexcept>
#include <utility>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

constexpr outback_status bad = OUTBACK_INVALID_ARGUMENT;

outback_capture status_of(outback_stream s, int32_t device = 0) {
  outback_capture status = -1;
  check(table().graphs->status(table().self, device, s, &status), "graphs.status");
  return status;
}

void begin(outback_stream s) {
  check(table().graphs->begin(table().self, 0, s), "graphs.begin");
}

// What the capture that began on `s` left, ready to be launched. Make it after the memory that it
// uses.
class graph {
 public:
  explicit graph(outback_stream s, bool ready = true) {
    check(table().graphs->end(table().self, 0, s, &handle_), "graphs.end");
    if (ready) check(table().graphs->instantiate(table().self, 0, handle_), "graphs.instantiate");
  }
  ~graph() {
    if (handle_ != nullptr) destroy();
  }
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;

  operator outback_graph() const { return handle_; }
  void launch(outback_stream s) {
    check(table().graphs->launch(table().self, 0, handle_, s), "graphs.launch");
  }
  void destroy() {
    check(table().graphs->destroy(table().self, 0, std::exchange(handle_, nullptr)),
          "graphs.destroy");
  }

 private:
  outback_graph handle_ = nullptr;
};

class GraphTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS_GROUP(graphs);
  }

  // The capture of `s` is broken: nothing can be enqueued, and `end` fails, leaves no graph, and
  // leaves a stream as good as before.
  void expect_broken(stream& s, const memory& data) {
    EXPECT_EQ(status_of(s), OUTBACK_CAPTURE_BROKEN);
    const std::byte pattern{77};
    EXPECT_FAILS(table().mem_fill(table().self, 0, data.at(), data.size(), &pattern, 1, s), bad);
    expect_no_graph(s);
    EXPECT_EQ(status_of(s), OUTBACK_CAPTURE_NONE);
    data.fill(9, s);
    EXPECT_TRUE(same(data.ends(s), all(64, 9)));
  }
  static void expect_no_graph(outback_stream s) {
    const auto untouched = reinterpret_cast<outback_graph>(&device_count);
    outback_graph none = untouched;
    EXPECT_FAILS(table().graphs->end(table().self, 0, s, &none), bad);
    EXPECT_EQ(none, untouched);
  }

  busy_work busy_;
};

TEST_F(GraphTest, CapturedWorkRunsWhenItIsLaunched) {
  memory data(all(1000, 1));
  stream s;
  begin(s);
  data.fill(2, s);
  graph g(s);
  EXPECT_TRUE(same(data.read(), all(1000, 1)));
  for (const int other : {3, 4}) {
    g.launch(s);
    s.sync();
    EXPECT_TRUE(same(data.read(), all(1000, 2)));
    data.fill(other);
  }
}

TEST_F(GraphTest, StatusFollowsTheCapture) {
  stream s, other;
  EXPECT_EQ(status_of(s), OUTBACK_CAPTURE_NONE);
  begin(s);
  EXPECT_EQ(status_of(s), OUTBACK_CAPTURE_ACTIVE);
  EXPECT_EQ(status_of(other), OUTBACK_CAPTURE_NONE);
  EXPECT_EQ(status_of(nullptr), OUTBACK_CAPTURE_NONE);
  const graph g(s, false);
  EXPECT_EQ(status_of(s), OUTBACK_CAPTURE_NONE);
  s.sync();
}

TEST_F(GraphTest, WorkRunsInTheOrderOfItsEnqueueing) {
  memory a(big()), b(big());
  stream s;
  begin(s);
  busy_.fill(a, 1, s);
  a.copy_to(b, s);
  a.fill(2, s);
  graph g(s);
  for (int round = 0; round < 3; ++round) {
    b.fill(9, s);
    g.launch(s);
    EXPECT_TRUE(same(b.ends(s), all(64, 1)));
    EXPECT_TRUE(same(a.ends(s), all(64, 2)));
  }
}

TEST_F(GraphTest, ALaunchTakesItsTurnOnTheStream) {
  memory a(big()), b(big()), c(big());
  stream s, launching;
  begin(s);
  a.copy_to(b, s);
  graph g(s);
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(a, round, launching);
    g.launch(launching);
    b.copy_to(c, launching);
    b.fill(100, launching);
    EXPECT_TRUE(same(c.ends(launching), all(64, round)));
  }
}

TEST_F(GraphTest, WorkFromBeforeTheCaptureStillRuns) {
  memory data(big());
  stream s;
  busy_.fill(data, 1, s);
  begin(s);
  data.fill(2, s);
  graph g(s);
  EXPECT_TRUE(same(data.ends(s), all(64, 1)));
  g.launch(s);
  EXPECT_TRUE(same(data.ends(s), all(64, 2)));
}

TEST_F(GraphTest, AnEmptyCaptureIsAGraph) {
  stream s;
  begin(s);
  graph g(s);
  g.launch(s);
  s.sync();
}

TEST_F(GraphTest, OtherStreamsGoOnMeanwhile) {
  memory data(big()), captured(all(64, 1));
  stream s, other;
  event e;
  begin(s);
  captured.fill(2, s);
  busy_.fill(data, 5, other);
  e.record(other);
  e.sync();
  EXPECT_TRUE(same(data.ends(other), all(64, 5)));
  EXPECT_EQ(status_of(s), OUTBACK_CAPTURE_ACTIVE);
  graph g(s);
  EXPECT_TRUE(same(captured.read(), all(64, 1)));
  g.launch(other);
  other.sync();
  EXPECT_TRUE(same(captured.read(), all(64, 2)));
}

TEST_F(GraphTest, AStreamCanBeWrappedMeanwhile) {
  OUTBACK_NEEDS_GROUP(native);
  memory data(all(64, 1));
  stream s;
  void* native = nullptr;
  check(table().native->stream(table().self, 0, s, &native), "native.stream");
  begin(s);
  outback_stream wrapped = nullptr;
  check(table().native->wrap_stream(table().self, 0, native, &wrapped), "native.wrap_stream");
  EXPECT_EQ(status_of(wrapped), OUTBACK_CAPTURE_ACTIVE);
  data.fill(2, wrapped);
  graph g(s);
  EXPECT_OK(table().streams->destroy(table().self, 0, wrapped));
  EXPECT_TRUE(same(data.read(), all(64, 1)));
  g.launch(s);
  s.sync();
  EXPECT_TRUE(same(data.read(), all(64, 2)));
}

// ---- Several streams

TEST_F(GraphTest, AnEventTakesAnotherStreamIn) {
  memory a(big()), b(big()), c(big());
  stream s, t;
  event fork, join;
  begin(s);
  busy_.fill(a, 7, s);
  fork.record(s);
  fork.wait(t);
  EXPECT_EQ(status_of(t), OUTBACK_CAPTURE_ACTIVE);
  a.copy_to(b, t);
  join.record(t);
  join.wait(s);
  b.copy_to(c, s);
  graph g(s);
  EXPECT_EQ(status_of(t), OUTBACK_CAPTURE_NONE);
  t.sync();
  for (int round = 0; round < 5; ++round) {
    for (const memory* m : {&a, &b, &c}) m->fill(1, s);
    g.launch(s);
    EXPECT_TRUE(same(c.ends(s), all(64, 7)));
  }
}

// A diamond whose two sides use the same bytes in turn, by an event between the sides.
TEST_F(GraphTest, EventsBetweenStreamsKeepTheirOrder) {
  memory a(big()), b(big()), c(big());
  stream s, t, u;
  event fork, turn, done_t, done_u;
  begin(s);
  fork.record(s);
  fork.wait(t);
  fork.wait(u);
  busy_.fill(a, 3, t);
  turn.record(t);
  turn.wait(u);
  b.fill(6, t);
  done_t.record(t);
  a.copy_to(c, u);
  a.fill(4, u);
  done_u.record(u);
  done_u.wait(s);
  done_t.wait(s);
  graph g(s);
  for (int round = 0; round < 5; ++round) {
    for (const memory* m : {&a, &b, &c}) m->fill(1, s);
    g.launch(s);
    EXPECT_TRUE(same(a.ends(s), all(64, 4)));
    EXPECT_TRUE(same(b.ends(s), all(64, 6)));
    EXPECT_TRUE(same(c.ends(s), all(64, 3)));
  }
}

TEST_F(GraphTest, StreamsOfAnotherDeviceJoinToo) {
  OUTBACK_NEEDS_TWO_DEVICES();
  memory a(big(), 0), b(big(), 1), c(big(), 1);
  stream s(0), t(1);
  event fork(0, 0), join(0, 1);
  begin(s);
  busy_.fill(a, 7, s);
  a.copy_to(b, s);
  fork.record(s);
  fork.wait(t, 1);
  EXPECT_EQ(status_of(t, 1), OUTBACK_CAPTURE_ACTIVE);
  b.copy_to(c, t);
  join.record(t);
  join.wait(s);
  graph g(s);
  g.launch(s);
  s.sync();
  EXPECT_TRUE(same(c.ends(t), all(64, 7)));
}

TEST_F(GraphTest, AStreamThatIsNotJoinedLeavesNoGraph) {
  memory data(all(64, 1));
  stream s, t;
  event fork, early;
  for (const bool joined_too_early : {false, true}) {
    begin(s);
    fork.record(s);
    fork.wait(t);
    if (joined_too_early) {
      data.fill(2, t);
      early.record(t);
      early.wait(s);
    }
    data.fill(3, t);
    expect_no_graph(s);
    for (const outback_stream each : {outback_stream(s), outback_stream(t)})
      EXPECT_EQ(status_of(each), OUTBACK_CAPTURE_NONE);
    EXPECT_TRUE(same(data.ends(t), all(64, 1)));
    EXPECT_TRUE(same(data.ends(s), all(64, 1)));
  }
}

TEST_F(GraphTest, CapturesAtOnceAreTheirOwn) {
  // Made and freed by one thread: both wait for the device, which breaks captures.
  std::deque<memory> all_data;
  for (int i = 0; i < 8; ++i) all_data.emplace_back(std::size_t(4096));
  in_threads(8, [&](int i) {
    const memory& data = all_data[std::size_t(i)];
    for (int round = 0; round < 20; ++round) {
      stream s, t;
      event fork, join;
      data.fill(200, s);
      begin(s);
      data.fill(i, s);
      fork.record(s);
      fork.wait(t);
      data.fill(100 + i, t);
      join.record(t);
      join.wait(s);
      graph g(s);
      g.launch(s);
      if (const auto result = same(data.ends(s), all(64, 100 + i)); !result)
        throw std::runtime_error(result.message());
    }
  });
}

// ---- What is captured

TEST_F(GraphTest, PinnedMemoryIsReadAndWrittenByTheLaunch) {
  OUTBACK_NEEDS_GROUP(host_memory);
  void* pinned = nullptr;
  check(table().host_memory->alloc(table().self, 128, &pinned), "host_memory.alloc");
  check_memory(pinned, 128, "host_memory.alloc");
  check_reach(pinned, 128, "host_memory.alloc");
  auto* const from = static_cast<std::byte*>(pinned);
  auto* const to = from + 64;
  {
    memory data(64);
    stream s;
    begin(s);
    EXPECT_OK(table().mem_copy(table().self, data.at(), 0, from, OUTBACK_HOST, 64, s));
    EXPECT_OK(table().mem_copy(table().self, to, OUTBACK_HOST, data.at(), 0, 64, s));
    graph g(s);
    for (int round = 1; round <= 3; ++round) {
      std::fill_n(from, 64, std::byte(round));
      g.launch(s);
      s.sync();
      EXPECT_TRUE(same(bytes(to, to + 64), all(64, round)));
    }
  }
  check(table().host_memory->free(table().self, pinned), "host_memory.free");
}

TEST_F(GraphTest, PatternsAreReadByTheCapture) {
  memory data(all(64, 1));
  stream s;
  begin(s);
  auto pattern = std::make_unique<bytes>(all(8, 2));
  EXPECT_OK(table().mem_fill(table().self, 0, data.at(), 64, pattern->data(), 8, s));
  *pattern = all(8, 3);
  pattern.reset();
  graph g(s);
  g.launch(s);
  EXPECT_TRUE(same(data.ends(s), all(64, 2)));
}

TEST_F(GraphTest, CallbacksRunInEachLaunch) {
  OUTBACK_NEEDS_GROUP(callbacks);
  int runs = 0;
  stream s;
  begin(s);
  EXPECT_OK(table().callbacks->enqueue(
      table().self, 0, [](void* data) { ++*static_cast<int*>(data); }, &runs, s));
  graph g(s);
  s.sync();
  EXPECT_EQ(runs, 0);
  for (int launch = 1; launch <= 3; ++launch) {
    g.launch(s);
    s.sync();
    EXPECT_EQ(runs, launch);
  }
}

// ---- Launches

// Each launch swaps the two, by way of a third: two at once would lose one.
TEST_F(GraphTest, LaunchesRunOneAfterAnother) {
  memory a(big()), b(big()), between(big());
  stream s, t;
  a.fill(1);
  b.fill(2);
  begin(s);
  a.copy_to(between, s);
  b.copy_to(a, s);
  between.copy_to(b, s);
  graph g(s);
  for (int i = 0; i < 5; ++i) {
    g.launch(s);
    g.launch(t);
    g.launch(t);
  }
  check(table().device_sync(table().self, 0), "device_sync");
  EXPECT_TRUE(same(a.read(), all(big(), 2)));
  EXPECT_TRUE(same(b.read(), all(big(), 1)));
}

// The second stream is idle, and the first is not: the launch on the second still comes second.
TEST_F(GraphTest, LaunchesRunInTheOrderOfTheCalls) {
  memory a(big()), b(all(big(), 1));
  stream s, t;
  begin(s);
  a.copy_to(b, s);
  graph g(s);
  for (int round = 2; round <= 4; ++round) {
    busy_.fill(a, round, s);
    g.launch(s);
    g.launch(t);
    EXPECT_TRUE(same(b.ends(t), all(64, round)));
  }
}

TEST_F(GraphTest, ManyThreadsLaunchOneGraph) {
  memory a(all(4096, 1)), b(all(4096, 2)), between(std::size_t(4096));
  stream s;
  begin(s);
  a.copy_to(between, s);
  b.copy_to(a, s);
  between.copy_to(b, s);
  graph g(s);
  stream shared;
  in_threads(4, [&](int i) {
    stream own;
    for (int round = 0; round < 50; ++round)
      g.launch(i % 2 == 0 ? outback_stream(shared) : outback_stream(own));
    own.sync();
  });
  g.launch(shared);
  shared.sync();
  EXPECT_TRUE(same(a.read(), all(4096, 2)));
  EXPECT_TRUE(same(b.read(), all(4096, 1)));
}

TEST_F(GraphTest, APendingLaunchOutlivesItsGraph) {
  memory data(big()), copy(big());
  stream s;
  for (int round = 1; round <= 3; ++round) {
    begin(s);
    data.copy_to(copy, s);
    {
      graph g(s);
      busy_.fill(data, round, s);
      g.launch(s);
      g.destroy();
    }
    EXPECT_TRUE(same(copy.ends(s), all(64, round)));
  }
}

TEST_F(GraphTest, IsInstantiatedOnceAndThenLaunched) {
  stream s;
  begin(s);
  graph g(s, false);
  EXPECT_FAILS(table().graphs->launch(table().self, 0, g, s), bad);
  EXPECT_OK(table().graphs->instantiate(table().self, 0, g));
  EXPECT_FAILS(table().graphs->instantiate(table().self, 0, g), bad);
  EXPECT_OK(table().graphs->launch(table().self, 0, g, s));
  s.sync();
}

// ---- What breaks a capture

TEST_F(GraphTest, WaitingForTheStreamBreaks) {
  memory data(64);
  stream s;
  begin(s);
  EXPECT_FAILS(table().streams->sync(table().self, 0, s), bad);
  expect_broken(s, data);
}

TEST_F(GraphTest, AskingTheStreamBreaks) {
  memory data(64);
  stream s;
  begin(s);
  EXPECT_FAILS(table().streams->query(table().self, 0, s), bad);
  expect_broken(s, data);
}

TEST_F(GraphTest, WaitingForTheDeviceBreaks) {
  memory data(64);
  stream s;
  begin(s);
  EXPECT_FAILS(table().device_sync(table().self, 0), bad);
  expect_broken(s, data);
  EXPECT_OK(table().device_sync(table().self, 0));
}

TEST_F(GraphTest, WaitingForAStreamThatJoinedBreaksTheWholeCapture) {
  memory data(64);
  stream s, t;
  event fork;
  begin(s);
  fork.record(s);
  fork.wait(t);
  EXPECT_FAILS(table().streams->sync(table().self, 0, t), bad);
  EXPECT_EQ(status_of(t), OUTBACK_CAPTURE_BROKEN);
  expect_broken(s, data);
  EXPECT_EQ(status_of(t), OUTBACK_CAPTURE_NONE);
  t.sync();
}

TEST_F(GraphTest, EventsOfACaptureAreNeitherWaitedForNorAsked) {
  memory data(64);
  stream s;
  event e(OUTBACK_EVENT_TIMING), outside(OUTBACK_EVENT_TIMING);
  outside.record(s);
  outside.sync();
  int64_t ns = -77;
  for (const int way : {0, 1}) {
    begin(s);
    e.record(s);
    if (way == 0) {
      EXPECT_FAILS(table().events->query(table().self, 0, e), bad);
    } else {
      EXPECT_FAILS(table().events->sync(table().self, 0, e), bad);
    }
    expect_broken(s, data);
    // Nor afterwards, until it is recorded outside of a capture.
    EXPECT_FAILS(table().events->query(table().self, 0, e), bad);
    EXPECT_FAILS(table().events->sync(table().self, 0, e), bad);
    EXPECT_FAILS(table().events->wait(table().self, 0, e, s), bad);
    EXPECT_FAILS(table().events->elapsed(table().self, outside, e, &ns), bad);
    EXPECT_EQ(ns, -77);
    e.record(s);
    e.sync();
    e.poll();
    EXPECT_OK(table().events->elapsed(table().self, outside, e, &ns));
    ns = -77;
  }
}

TEST_F(GraphTest, AWaitKeepsTheRecordingFromBeforeTheCapture) {
  memory data(big()), copy(big());
  stream writer, reader, s;
  event e;
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(data, round, writer);
    e.record(writer);
    e.wait(reader);
    begin(s);
    e.record(s);
    const graph g(s);
    data.copy_to(copy, reader);
    EXPECT_TRUE(same(copy.ends(reader), all(64, round)));
  }
}

TEST_F(GraphTest, AnEventFromOutsideBreaks) {
  memory data(64);
  stream s, other;
  event e;
  e.record(other);
  begin(s);
  EXPECT_FAILS(table().events->wait(table().self, 0, e, s), bad);
  expect_broken(s, data);
}

TEST_F(GraphTest, AnEventOfAnotherCaptureBreaksBoth) {
  memory data(64);
  stream s, t;
  event e;
  begin(s);
  begin(t);
  e.record(t);
  EXPECT_FAILS(table().events->wait(table().self, 0, e, s), bad);
  EXPECT_EQ(status_of(t), OUTBACK_CAPTURE_BROKEN);
  expect_broken(s, data);
  expect_broken(t, data);
}

TEST_F(GraphTest, CopiesOfPageableMemoryBreak) {
  for (const std::size_t size : {std::size_t(64), big()}) {
    memory data(size);
    stream s;
    bytes host = all(size, 5);
    begin(s);
    EXPECT_FAILS(table().mem_copy(table().self, data.at(), 0, host.data(), OUTBACK_HOST, size, s),
                 bad);
    expect_broken(s, data);
    begin(s);
    EXPECT_FAILS(table().mem_copy(table().self, host.data(), OUTBACK_HOST, data.at(), 0, size, s),
                 bad);
    EXPECT_TRUE(same(host, all(size, 5)));
    expect_broken(s, data);
  }
}

TEST_F(GraphTest, ALaunchBreaks) {
  memory data(64);
  stream s;
  begin(s);
  graph g(s);
  begin(s);
  EXPECT_FAILS(table().graphs->launch(table().self, 0, g, s), bad);
  expect_broken(s, data);
  g.launch(s);
  s.sync();
}

TEST_F(GraphTest, BeginsAndEndsBelongTogether) {
  stream s, t;
  event fork;
  memory data(64);
  expect_no_graph(s);  // no capture
  begin(s);
  EXPECT_FAILS(table().graphs->begin(table().self, 0, s), bad);
  fork.record(s);
  fork.wait(t);
  data.fill(1, t);
  expect_no_graph(t);  // it joined, the capture did not begin there
  EXPECT_FAILS(table().graphs->begin(table().self, 0, t), bad);
  expect_no_graph(s);  // of the two at least `t` was not joined
  EXPECT_EQ(status_of(s), OUTBACK_CAPTURE_NONE);
  EXPECT_EQ(status_of(t), OUTBACK_CAPTURE_NONE);
}

}  // namespace
}  // namespace outback::suite
