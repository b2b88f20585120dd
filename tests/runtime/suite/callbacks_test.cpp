// Callbacks: where in a stream they run, and on which thread.
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

void enqueue(outback_callback callback, void* data, outback_stream s, int32_t device = 0) {
  check(table().callbacks->enqueue(table().self, device, callback, data, s), "callbacks.enqueue");
}

class CallbackTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS_GROUP(callbacks);
  }

  busy_work busy_{busy_by::filling};
};

// A callback that does not return before it is let go. Declare it after what the work behind it
// uses, or that may wait for ever.
class held_callback {
 public:
  explicit held_callback(outback_stream s) {
    enqueue([](void* self) { static_cast<held_callback*>(self)->run(); }, this, s);
  }
  ~held_callback() {
    let_go();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_; });
  }
  held_callback(const held_callback&) = delete;
  held_callback& operator=(const held_callback&) = delete;

  void wait_until_it_runs() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return runs_; });
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    go_ = true;
    changed_.notify_all();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    runs_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return go_; });
    over_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool runs_ = false, go_ = false, over_ = false;
};

// Read through another stream, which waits for nothing: only the callback says that the work is
// done.
TEST_F(CallbackTest, RunsAfterTheWorkBefore) {
  stream s, other;
  memory data(big());
  for (int round = 1; round <= 3; ++round) {
    busy_.fill(data, round, s);
    held_callback held(s);
    held.wait_until_it_runs();
    EXPECT_TRUE(same(data.ends(other), all(64, round)));
  }
}

TEST_F(CallbackTest, TheStreamGoesOnWhenItReturned) {
  stream s, other;
  memory data(all(64, 1));
  for (int round = 2; round <= 4; ++round) {
    held_callback held(s);
    data.fill(round, s);
    held.wait_until_it_runs();
    EXPECT_EQ(table().streams->query(table().self, 0, s), OUTBACK_NOT_READY);
    EXPECT_TRUE(same(data.ends(other), all(64, round - 1)));
    held.let_go();
    s.sync();
    EXPECT_TRUE(same(data.ends(other), all(64, round)));
  }
}

TEST_F(CallbackTest, EventsAfterItWait) {
  OUTBACK_NEEDS_GROUP(events);
  stream s;
  event before, after;
  before.record(s);
  held_callback held(s);
  after.record(s);
  held.wait_until_it_runs();
  EXPECT_OK(table().events->query(table().self, 0, before));
  EXPECT_EQ(table().events->query(table().self, 0, after), OUTBACK_NOT_READY);
  held.let_go();
  after.sync();
}

TEST_F(CallbackTest, RunOnceEachAndInOrder) {
  struct entry {
    std::vector<int>* order;
    int number;
  };
  std::vector<int> order, expected(200);
  std::iota(expected.begin(), expected.end(), 0);
  std::vector<entry> entries;
  for (const int number : expected) entries.push_back({&order, number});
  stream s;
  busy_.enqueue(s);
  for (entry& each : entries) {
    enqueue(
        [](void* data) {
          const auto* mine = static_cast<const entry*>(data);
          mine->order->push_back(mine->number);
        },
        &each, s);
  }
  s.sync();
  EXPECT_EQ(order, expected);
}

// Not the caller's: it may hold a lock that the callback takes. On an idle stream and on a busy
// one.
TEST_F(CallbackTest, RunsOnAThreadOfTheRuntimes) {
  stream s;
  for (const bool busy : {false, true}) {
    std::thread::id where;
    if (busy) busy_.enqueue(s);
    enqueue([](void* data) { *static_cast<std::thread::id*>(data) = std::this_thread::get_id(); },
            &where, s);
    s.sync();
    EXPECT_NE(where, std::thread::id());
    EXPECT_NE(where, std::this_thread::get_id());
  }
}

void count(void* counter) {
  ++*static_cast<int*>(counter);
}

TEST_F(CallbackTest, OnEveryDevicesDefaultStream) {
  for (int32_t d = 0; d < device_count(); ++d) {
    int runs = 0;
    enqueue(&count, &runs, nullptr, d);
    EXPECT_OK(table().device_sync(table().self, d));
    EXPECT_EQ(runs, 1);
  }
}

TEST_F(CallbackTest, DataMayBeNull) {
  stream s;
  static void* seen = &seen;
  enqueue([](void* data) { seen = data; }, nullptr, s);
  s.sync();
  EXPECT_EQ(seen, nullptr);
}

TEST_F(CallbackTest, OutlivesItsStream) {
  int runs = 0;
  {
    stream s;
    busy_.enqueue(s);
    enqueue(&count, &runs, s);
    s.destroy();
  }
  EXPECT_OK(table().device_sync(table().self, 0));
  EXPECT_EQ(runs, 1);
}

// One at a time: the counter is an ordinary one.
TEST_F(CallbackTest, FromManyThreadsToOneStream) {
  stream s;
  int runs = 0;
  in_threads(8, [&](int) {
    for (int round = 0; round < 200; ++round) enqueue(&count, &runs, s);
  });
  s.sync();
  EXPECT_EQ(runs, 8 * 200);
}

TEST_F(CallbackTest, ARefusedOneNeverRuns) {
  int runs = 0;
  EXPECT_FAILS(table().callbacks->enqueue(table().self, device_count(), &count, &runs, nullptr),
               OUTBACK_INVALID_ARGUMENT);
  EXPECT_OK(table().device_sync(table().self, 0));
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace outback::suite
