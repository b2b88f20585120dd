// The driver's own records of the work: which there are, when it was, and whose.
#include <algorithm>
#include <set>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

using records = std::vector<outback_record>;

class ActivityTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS_GROUP(activity);
    const outback_status status = a().start(self(), 0);
    OUTBACK_NEEDS(status != OUTBACK_UNSUPPORTED, "activity.start");
    check(status, "activity.start");
    goes_on_ = true;
  }
  void TearDown() override {
    if (!goes_on_) return;
    EXPECT_OK(a().stop(self(), 0));
  }

  static const outback_activity& a() { return *table().activity; }
  static void* self() { return table().self; }

  void stop() {
    EXPECT_OK(a().stop(self(), 0));
    goes_on_ = false;
  }

  // What was recorded of the work that is done.
  static records read() {
    EXPECT_OK(a().flush(self(), 0));
    records all;
    for (;;) {
      outback_records some = {};
      some.struct_size = sizeof(some);
      check(a().read(self(), 0, &some), "activity.read");
      EXPECT_EQ(some.lost, 0u);
      EXPECT_LE(some.count, std::size(some.list));
      const auto count = std::min<std::size_t>(some.count, std::size(some.list));
      all.insert(all.end(), some.list, some.list + count);
      if (count < std::size(some.list)) return all;
    }
  }

  static int64_t clock() {
    int64_t ns = -77;
    check(a().clock(self(), 0, &ns), "activity.clock");
    return ns;
  }
  static uint64_t number(outback_stream s) {
    uint64_t number = 0;
    check(a().stream(self(), 0, s, &number), "activity.stream");
    return number;
  }
  static void push(uint64_t number) { check(a().push(self(), number), "activity.push"); }
  static uint64_t pop() {
    uint64_t number = 0;
    check(a().pop(self(), &number), "activity.pop");
    return number;
  }

  // The records of a kind, in the order of their times.
  static records of(outback_record_kind kind, const records& all) {
    records found;
    std::copy_if(all.begin(), all.end(), std::back_inserter(found),
                 [&](const outback_record& each) { return each.kind == kind; });
    std::sort(found.begin(), found.end(),
              [](const outback_record& x, const outback_record& y) { return x.begin < y.begin; });
    return found;
  }

  static void sync() { check(table().device_sync(self(), 0), "device_sync"); }

  bool goes_on_ = false;
};

TEST_F(ActivityTest, ACopyAndAFillAreRecordedWithBytesAndTimes) {
  const memory data(big());
  const bytes content = noise(big(), 1);
  const int64_t before = clock();
  data.fill(3, nullptr);
  check(table().mem_copy(self(), data.at(), 0, content.data(), OUTBACK_HOST, big(), nullptr),
        "mem_copy");
  sync();
  const int64_t after = clock();
  const records all = read();
  uint64_t copied = 0, filled = 0;
  for (const outback_record& each : all) {
    EXPECT_LE(before, each.begin);
    EXPECT_LE(each.begin, each.end);
    EXPECT_LE(each.end, after);
    EXPECT_EQ(each.stream, number(nullptr));
    EXPECT_EQ(each.correlation, 0u);
    if (each.kind == OUTBACK_RECORD_COPY_TO_DEVICE) copied += each.bytes;
    if (each.kind == OUTBACK_RECORD_FILL) filled += each.bytes;
  }
  // In as many pieces as the runtime needs.
  EXPECT_EQ(copied, big());
  EXPECT_EQ(filled, big());
  EXPECT_TRUE(read().empty()) << "what was read is gone";
}

TEST_F(ActivityTest, RecordsTellWhoseTheyAre) {
  const memory data(64);
  push(7);
  push(9);
  data.fill(1, nullptr);
  EXPECT_EQ(pop(), 9u);
  data.fill(2, nullptr);
  EXPECT_EQ(pop(), 7u);
  data.fill(3, nullptr);
  in_threads(1, [&](int) { data.fill(4, nullptr); });  // another thread has pushed nothing
  sync();
  std::vector<uint64_t> numbers;
  for (const outback_record& each : of(OUTBACK_RECORD_FILL, read())) {
    numbers.push_back(each.correlation);
  }
  EXPECT_THAT(numbers, testing::ElementsAre(9, 7, 0, 0));
}

TEST_F(ActivityTest, StreamsHaveNumbersOfTheirOwn) {
  OUTBACK_NEEDS_GROUP(streams);
  stream one, other;
  EXPECT_EQ((std::set{number(nullptr), number(one), number(other)}.size()), 3u);
  EXPECT_EQ(number(one), number(one));
  const memory data(64);
  data.fill(1, one);
  data.fill(2, other);
  sync();
  std::multiset<uint64_t> streams;
  for (const outback_record& each : of(OUTBACK_RECORD_FILL, read())) streams.insert(each.stream);
  EXPECT_EQ(streams, (std::multiset{number(one), number(other)}));
}

TEST_F(ActivityTest, WorkOfAStreamIsRecordedInItsOrder) {
  OUTBACK_NEEDS_GROUP(streams);
  const memory data(big());
  stream s;
  for (uint64_t i = 1; i <= 5; ++i) {
    push(i);
    data.fill(int(i), s);
    pop();
  }
  s.sync();
  const records fills = of(OUTBACK_RECORD_FILL, read());
  for (std::size_t i = 1; i < fills.size(); ++i) {
    EXPECT_LE(fills[i - 1].end, fills[i].begin);
    EXPECT_LE(fills[i - 1].correlation, fills[i].correlation);
  }
}

TEST_F(ActivityTest, AStopKeepsWhatWasDoneAndRecordsNoMore) {
  const memory data(64);
  data.fill(1, nullptr);
  sync();
  stop();
  data.fill(2, nullptr);
  sync();
  EXPECT_EQ(of(OUTBACK_RECORD_FILL, read()).size(), 1u);
  EXPECT_FAILS(a().stop(self(), 0), OUTBACK_INVALID_ARGUMENT);
}

TEST_F(ActivityTest, AStartBeginsAnew) {
  EXPECT_FAILS(a().start(self(), 0), OUTBACK_INVALID_ARGUMENT);
  const memory data(64);
  data.fill(1, nullptr);
  sync();
  stop();
  check(a().start(self(), 0), "activity.start");
  goes_on_ = true;
  EXPECT_TRUE(read().empty());
  data.fill(2, nullptr);
  sync();
  EXPECT_EQ(of(OUTBACK_RECORD_FILL, read()).size(), 1u);
}

TEST_F(ActivityTest, PushesAreNested64Deep) {
  for (uint64_t i = 1; i <= 64; ++i) push(i);
  EXPECT_FAILS(a().push(self(), 65), OUTBACK_INVALID_ARGUMENT);
  for (uint64_t i = 64; i >= 1; --i) EXPECT_EQ(pop(), i);
  uint64_t number = 77;
  EXPECT_FAILS(a().pop(self(), &number), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(number, 77u);
}

TEST_F(ActivityTest, ManyRecordsWaitUntilTheyAreRead) {
  const memory data(64);
  constexpr std::size_t many = 3000;
  for (std::size_t i = 0; i < many; ++i) data.fill(1, nullptr);
  sync();
  EXPECT_EQ(of(OUTBACK_RECORD_FILL, read()).size(), many);
}

TEST_F(ActivityTest, DevicesAreRecordedApart) {
  OUTBACK_NEEDS_TWO_DEVICES();
  check(a().start(self(), 1), "activity.start");
  const memory here(64, 0), there(64, 1);
  here.fill(1, nullptr);
  there.fill(2, nullptr);
  for (const int32_t device : {0, 1}) check(table().device_sync(self(), device), "device_sync");
  EXPECT_EQ(of(OUTBACK_RECORD_FILL, read()).size(), 1u);
  EXPECT_OK(a().stop(self(), 1));
}

TEST_F(ActivityTest, WhatIsInALaunchIsRecorded) {
  OUTBACK_NEEDS_GROUP(graphs);
  const memory data(64);
  stream s;
  const outback_graphs& graphs = *table().graphs;
  outback_graph graph = nullptr;
  check(graphs.begin(self(), 0, s), "graphs.begin");
  data.fill(1, s);
  data.fill(2, s);
  check(graphs.end(self(), 0, s, &graph), "graphs.end");
  check(graphs.instantiate(self(), 0, graph), "graphs.instantiate");
  EXPECT_TRUE(read().empty()) << "a capture runs nothing";
  push(5);
  check(graphs.launch(self(), 0, graph, s), "graphs.launch");
  pop();
  s.sync();
  check(graphs.destroy(self(), 0, graph), "graphs.destroy");
  const records all = read();
  const records whole = of(OUTBACK_RECORD_GRAPH, all), fills = of(OUTBACK_RECORD_FILL, all);
  EXPECT_TRUE(whole.size() == 1 || fills.size() == 2) << "the launch, or what is in it, or both";
  for (const outback_record& each : all) EXPECT_EQ(each.correlation, 5u);
  for (const outback_record& each : fills) {
    EXPECT_EQ(each.flags & OUTBACK_RECORD_IN_GRAPH, OUTBACK_RECORD_IN_GRAPH);
  }
}

}  // namespace
}  // namespace outback::suite
