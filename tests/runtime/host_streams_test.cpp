// What the host runtime promises beyond the contract: when it is asynchronous, when it waits, and
// its threads.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "tests/runtime/gate.hpp"

namespace outback::host {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t small = 64, big = 4 << 20;  // on both sides of every limit in host_copy.cpp

class HostStreamsTest : public testing::Test {
 protected:
  ~HostStreamsTest() override { gate_.open(); }  // before the runtime waits for its streams

  unsigned char* alloc(std::size_t size, int value) {
    auto* ptr = static_cast<unsigned char*>(host_.mem_alloc(0, size));
    std::memset(ptr, value, size);
    return ptr;
  }
  void fill(void* ptr, std::size_t size, unsigned char value, outback_stream s) {
    host_.mem_fill(0, ptr, size, &value, 1, s);
  }
  static bool all_are(const unsigned char* ptr, std::size_t size, unsigned char value) {
    return std::all_of(ptr, ptr + size, [&](unsigned char byte) { return byte == value; });
  }
  static bool pending(const std::future<void>& call) {
    return call.wait_for(milliseconds(30)) == std::future_status::timeout;
  }
  // Before any test, hence without threads of streams; after a first thread, with which a sanitizer
  // starts one of its own.
  static void SetUpTestSuite() {
    std::thread([] {}).join();
    threads_at_start_ = threads();
  }
  static bool threads_ended() {
    for (int i = 0; i < 5000 && threads() != threads_at_start_; ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    return threads() == threads_at_start_;
  }
  static std::ptrdiff_t threads() {
    namespace fs = std::filesystem;
    return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
  }

  static inline std::ptrdiff_t threads_at_start_ = 0;

  host_runtime host_{{.devices = 2, .memory_size = 64 << 20}};
  gate gate_;
  const outback_stream s_ = host_.stream_create(0, 0);
};

TEST_F(HostStreamsTest, AStreamIsBusyUntilItsWorkIsDone) {
  EXPECT_TRUE(host_.stream_query(0, s_));
  gate_.close(s_);
  EXPECT_FALSE(host_.stream_query(0, s_));
  auto sync = std::async(std::launch::async, [&] { host_.stream_sync(0, s_); });
  EXPECT_TRUE(pending(sync));
  gate_.open();
  sync.get();
  EXPECT_TRUE(host_.stream_query(0, s_));
}

TEST_F(HostStreamsTest, NoStreamWaitsForAnother) {
  unsigned char* data = alloc(big, 0);
  const outback_stream other = host_.stream_create(0, 0);
  gate_.close(s_);
  fill(data, big, 1, other);
  host_.stream_sync(0, other);
  EXPECT_TRUE(all_are(data, big, 1));
  fill(data, big, 2, nullptr);
  host_.stream_sync(0, nullptr);
  EXPECT_TRUE(all_are(data, big, 2));
  EXPECT_FALSE(host_.stream_query(0, s_));
}

TEST_F(HostStreamsTest, FillsAndCopiesWaitForTheirTurn) {
  for (const std::size_t size : {small, big}) {
    SCOPED_TRACE(size);
    gate closed;
    unsigned char *from = alloc(size, 1), *to = alloc(size, 2);
    closed.close(s_);
    fill(from, size, 3, s_);
    host_.mem_copy(to, 0, from, 0, size, s_);
    EXPECT_TRUE(all_are(from, size, 1));
    EXPECT_TRUE(all_are(to, size, 2));
    closed.open();
    host_.stream_sync(0, s_);
    EXPECT_TRUE(all_are(to, size, 3));
  }
}

// Waking the stream's thread takes longer than a small copy, so who waits does the work meanwhile.
TEST_F(HostStreamsTest, AWaiterRunsWhatItsThreadHasNotBegun) {
  const auto queue = std::make_shared<stream>(0, std::make_shared<busy_clock>());
  const std::thread::id here = std::this_thread::get_id();
  int by_waiter = 0;
  std::vector<int> order;
  for (int i = 0; i < 2000; ++i) {
    queue->enqueue(
        [&, i] {
          order.push_back(i);
          if (std::this_thread::get_id() == here) ++by_waiter;
        },
        runner::a_waiter_too);
    if (i % 3 == 0) {
      queue->enqueue([&] { EXPECT_NE(std::this_thread::get_id(), here) << "needs its thread"; });
    }
    if (i % 2 == 0) queue->sync();
  }
  queue->sync();
  EXPECT_TRUE(queue->idle());
  queue->close();
  std::vector<int> expected(2000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
  EXPECT_GT(by_waiter, 0);
}

TEST_F(HostStreamsTest, AThreadEndsWhoseWorkAWaiterHasDone) {
  for (int i = 0; i < 200; ++i) {
    const auto queue = std::make_shared<stream>(0, std::make_shared<busy_clock>());
    queue->enqueue([] { std::this_thread::sleep_for(std::chrono::microseconds(200)); },
                   runner::a_waiter_too);
    queue->close();
    queue->sync();
  }
  EXPECT_TRUE(threads_ended());
}

// As often as the thread with this id has gone to sleep.
long sleeps_of(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string word; status >> word;) {
    if (word == "voluntary_ctxt_switches:") break;
  }
  long count = -1;
  status >> count;
  return count;
}

TEST_F(HostStreamsTest, WorkOnTheCallingThreadWakesNoOther) {
  const auto queue = std::make_shared<stream>(0, std::make_shared<busy_clock>());
  pid_t thread = 0;
  queue->enqueue([&] { thread = gettid(); });
  queue->sync();
  std::this_thread::sleep_for(milliseconds(50));
  const long before = sleeps_of(thread);
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(queue->try_run([] {}));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  EXPECT_LE(sleeps_of(thread), before + 10);
  queue->close();
}

// Returns though its stream stands still, and does not read the source any more.
TEST_F(HostStreamsTest, APageableSourceIsStaged) {
  unsigned char* data = alloc(1 << 20, 0);
  for (const std::size_t size : {small, std::size_t(1 << 20)}) {
    SCOPED_TRACE(size);
    gate closed;
    closed.close(s_);
    std::vector<unsigned char> source(size, 5);
    host_.mem_copy(data, 0, source.data(), OUTBACK_HOST, size, s_);
    source.assign(size, 6);
    closed.open();
    host_.stream_sync(0, s_);
    EXPECT_TRUE(all_are(data, size, 5));
  }
}

TEST_F(HostStreamsTest, ABigPageableSourceIsWaitedFor) {
  unsigned char* data = alloc(big, 0);
  const std::vector<unsigned char> source(big, 5);
  gate_.close(s_);
  auto copy = std::async(std::launch::async,
                         [&] { host_.mem_copy(data, 0, source.data(), OUTBACK_HOST, big, s_); });
  EXPECT_TRUE(pending(copy));
  gate_.open();
  copy.get();
  EXPECT_TRUE(all_are(data, big, 5));
}

TEST_F(HostStreamsTest, APageableDestinationIsWaitedFor) {
  for (const std::size_t size : {small, big}) {
    SCOPED_TRACE(size);
    gate closed;
    unsigned char* data = alloc(size, 1);
    std::vector<unsigned char> target(size, 0);
    closed.close(s_);
    fill(data, size, 7, s_);
    auto copy = std::async(std::launch::async,
                           [&] { host_.mem_copy(target.data(), OUTBACK_HOST, data, 0, size, s_); });
    EXPECT_TRUE(pending(copy));
    closed.open();
    copy.get();
    EXPECT_TRUE(all_are(target.data(), target.size(), 7));
  }
}

// A pinned side is used when the stream gets there, which the caller sees.
TEST_F(HostStreamsTest, PinnedMemoryIsUsedLater) {
  for (const std::size_t size : {small, big}) {
    SCOPED_TRACE(size);
    gate closed;
    auto* source = static_cast<unsigned char*>(host_.host_alloc(size));
    auto* target = static_cast<unsigned char*>(host_.host_alloc(size));
    std::memset(source, 1, size);
    std::memset(target, 2, size);
    unsigned char* data = alloc(size, 3);
    closed.close(s_);
    host_.mem_copy(data, 0, source, OUTBACK_HOST, size, s_);
    host_.mem_copy(target, OUTBACK_HOST, data, 0, size, s_);
    std::memset(source, 4, size);
    EXPECT_TRUE(all_are(target, size, 2));
    closed.open();
    host_.stream_sync(0, s_);
    EXPECT_TRUE(all_are(target, size, 4));
  }
}

// Device memory beside it is not pinned, whatever the caller calls it: the copy is staged.
TEST_F(HostStreamsTest, OnlyPinnedMemoryIsUsedLater) {
  unsigned char *not_pinned = alloc(small, 1), *data = alloc(small, 0);
  gate_.close(s_);
  host_.mem_copy(data, 0, not_pinned, OUTBACK_HOST, small, s_);
  std::memset(not_pinned, 2, small);
  gate_.open();
  host_.stream_sync(0, s_);
  EXPECT_TRUE(all_are(data, small, 1));
}

TEST_F(HostStreamsTest, EventsArePendingUntilTheirStreamReachesThem) {
  const outback_event begin = host_.event_create(0, OUTBACK_EVENT_TIMING);
  const outback_event end = host_.event_create(0, OUTBACK_EVENT_TIMING);
  host_.event_record(0, begin, s_);
  gate_.close(s_);
  host_.event_record(0, end, s_);
  EXPECT_TRUE(host_.event_query(0, begin));
  EXPECT_FALSE(host_.event_query(0, end));
  EXPECT_EQ(host_.event_elapsed(begin, end), std::nullopt);
  EXPECT_EQ(host_.event_elapsed(end, begin), std::nullopt);
  auto sync = std::async(std::launch::async, [&] { host_.event_sync(0, end); });
  EXPECT_TRUE(pending(sync));
  gate_.open();
  sync.get();
  EXPECT_TRUE(host_.event_query(0, end));
  EXPECT_GE(host_.event_elapsed(begin, end), 30'000'000);  // as long as `pending` looked
  host_.event_destroy(0, begin);
  host_.event_destroy(0, end);
}

TEST_F(HostStreamsTest, RecordingAgainForgetsAPendingOne) {
  const outback_stream idle = host_.stream_create(0, 0);
  const outback_event e = host_.event_create(0, 0);
  gate_.close(s_);
  host_.event_record(0, e, s_);
  EXPECT_FALSE(host_.event_query(0, e));
  host_.event_record(0, e, idle);
  EXPECT_TRUE(host_.event_query(0, e));
  host_.event_sync(0, e);
  host_.event_destroy(0, e);
}

TEST_F(HostStreamsTest, AWaitOutlivesItsEventAndKeepsItsRecording) {
  unsigned char* data = alloc(small, 0);
  const outback_stream reader = host_.stream_create(1, 0), idle = host_.stream_create(0, 0);
  const outback_event e = host_.event_create(0, 0);
  gate_.close(s_);
  host_.event_record(0, e, s_);
  host_.event_wait(1, e, reader);
  host_.event_record(0, e, idle);
  host_.event_destroy(0, e);
  host_.mem_fill(1, data, small, "\1", 1, reader);
  EXPECT_FALSE(host_.stream_query(1, reader));
  EXPECT_TRUE(all_are(data, small, 0));
  gate_.open();
  host_.stream_sync(1, reader);
  EXPECT_TRUE(all_are(data, small, 1));
}

TEST_F(HostStreamsTest, ADestroyedStreamFinishesAndTheDeviceWaitsForIt) {
  unsigned char* data = alloc(small, 0);
  gate_.close(s_);
  fill(data, small, 1, s_);
  host_.stream_destroy(0, s_);
  auto sync = std::async(std::launch::async, [&] { host_.device_sync(0); });
  EXPECT_TRUE(pending(sync));
  host_.device_sync(1);  // the other device's streams are not waited for
  gate_.open();
  sync.get();
  EXPECT_TRUE(all_are(data, small, 1));
}

TEST_F(HostStreamsTest, TheRuntimeGoesAfterItsWork) {
  auto other = std::make_unique<host_runtime>(host_options{.devices = 1, .memory_size = 1 << 20});
  std::vector<unsigned char> data(small, 0);
  const outback_stream s = other->stream_create(0, 0);
  gate_.close(s);
  other->mem_fill(0, data.data(), small, "\1", 1, s);
  auto end = std::async(std::launch::async, [&] { other.reset(); });
  EXPECT_TRUE(pending(end));
  gate_.open();
  end.get();
  EXPECT_TRUE(all_are(data.data(), data.size(), 1));
}

TEST_F(HostStreamsTest, ThreadsStartWhenNeededAndEndWithTheirStream) {
  ASSERT_TRUE(threads_ended()) << "those of the tests before";
  unsigned char *data = alloc(big, 0), *other = alloc(small, 0);
  std::vector<unsigned char> host(big, 1);
  const outback_event e = host_.event_create(0, 0);
  host_.mem_copy(data, 0, host.data(), OUTBACK_HOST, big, s_);
  host_.mem_copy(host.data(), OUTBACK_HOST, data, 0, big, s_);
  host_.mem_copy(other, 0, data, 0, small, s_);
  fill(data, small, 1, nullptr);
  host_.event_record(0, e, s_);
  host_.event_wait(0, e, nullptr);
  host_.stream_sync(0, s_);
  host_.device_sync(0);
  host_.event_destroy(0, e);
  EXPECT_EQ(threads(), threads_at_start_);

  fill(data, big, 1, s_);
  EXPECT_EQ(threads(), threads_at_start_ + 1);
  host_.stream_destroy(0, s_);
  host_.device_sync(0);
  EXPECT_TRUE(threads_ended());
}

}  // namespace
}  // namespace outback::host
