// Memory that streams still use when it is freed: when it serves again, and what captures and other
// threads that come in between change.
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <initializer_list>
#include <memory>
#include <optional>
#include <thread>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/device.h"
#include "backend_template/core/graphs/device_graph.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/core/memory/allocator/freeing.h"
#include "backend_template/core/memory/allocator/size_policy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/streams/host_callback.h"
#include "backend_template/core/streams/stream.h"
#include "tests/core/hooked_runtime.h"

namespace outback::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using core::allocate_on;
using core::device_allocator;
using core::mebibyte;

// A stream of device 0 whose work ends when the test says so.
class busy_stream {
 public:
  busy_stream() : stream_(core::new_stream(0, 0)) {
    core::enqueue_host_callback(stream_, [over = over_] { over->wait(false); });
  }
  busy_stream(const busy_stream&) = delete;
  busy_stream& operator=(const busy_stream&) = delete;
  ~busy_stream() { finish(); }

  operator c10::Stream() const { return stream_; }
  void finish() {
    *over_ = true;
    over_->notify_all();
    core::synchronize_stream(stream_);
  }

 private:
  std::shared_ptr<std::atomic<bool>> over_ = std::make_shared<std::atomic<bool>>(false);
  c10::Stream stream_;
};

class PendingMemoryTest : public HookedRuntimeTest {
 protected:
  void SetUp() override { device_allocator().emptyCache(); }
  void TearDown() override {
    HookedRuntimeTest::TearDown();
    device_allocator().emptyCache();
    EXPECT_EQ(stats().active_bytes[0].current, 0) << "nothing waits for ever";
  }

  static c10::CachingDeviceAllocator::DeviceStats stats() {
    return device_allocator().getDeviceStats(0);
  }
  // Where the block was.
  static void* free_used(size_t size, std::initializer_list<c10::Stream> streams) {
    const c10::DataPtr used = allocate_on(0, size);
    for (const c10::Stream& it : streams) device_allocator().recordStream(used, it);
    return used.get();
  }
  static bool comes_true(const std::function<bool()>& condition) {
    for (int i = 0; i < 20000 && !condition(); ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    return condition();
  }
};

// Memory of the CPU's, which frees itself.
class adopted_memory {
 public:
  adopted_memory() : memory_(core::adopt({bytes_, this, &free, c10::kCPU}, sizeof bytes_, 0)) {}

  void give_back() { memory_.clear(); }
  bool is_freed() const { return is_freed_; }

 private:
  static void free(void* it) { static_cast<adopted_memory*>(it)->is_freed_ = true; }

  char bytes_[64]{};
  bool is_freed_ = false;
  c10::DataPtr memory_;
};

TEST_F(PendingMemoryTest, AdoptedMemoryGoesAtOnceIfItsStreamIsDone) {
  adopted_memory it;
  core::mark_busy(core::current_stream(0));
  runtime().events_made = 0;
  it.give_back();
  EXPECT_TRUE(it.is_freed());
  EXPECT_EQ(runtime().events_made, 0);
  core::synchronize_device(0);
}

TEST_F(PendingMemoryTest, AFailureThatAStreamTellsADeleterIsKeptForTheNextWait) {
  adopted_memory it;
  core::mark_busy(core::current_stream(0));
  runtime().fails_when_asked = true;
  it.give_back();
  EXPECT_THAT(
      [] { core::synchronize_device(0); },
      ThrowsMessage<c10::Error>(AllOf(HasSubstr("acme: work failed that memory was freed behind: "),
                                      HasSubstr("the work that was enqueued has failed"))));
  device_allocator().emptyCache();
  EXPECT_TRUE(it.is_freed());
}

TEST_F(PendingMemoryTest, AnAllocationAsksEachStreamOnce) {
  busy_stream first, second;
  for (int i = 0; i < 500; ++i) {
    free_used(512, {first});
    free_used(512, {second});
  }
  runtime().events_asked = 0;
  const c10::DataPtr large = allocate_on(0, 8 * mebibyte);  // which the cache does not serve
  EXPECT_GE(runtime().events_asked, 2);
  EXPECT_LE(runtime().events_asked, 4);
  runtime().events_asked = 0;
  for (int i = 0; i < 100; ++i) allocate_on(0, 512);
  EXPECT_GE(runtime().events_asked, 4);
  EXPECT_LE(runtime().events_asked, 20) << "now and then";
  runtime().events_asked = 0;
  for (int i = 0; i < 100; ++i) allocate_on(1, 512);
  EXPECT_EQ(runtime().events_asked, 0) << "of another device";
}

TEST_F(PendingMemoryTest, EventsServeAgain) {
  const c10::Stream idle = core::new_stream(0, 0);
  free_used(512, {idle});
  allocate_on(0, 512).clear();
  runtime().events_made = 0;
  for (int i = 0; i < 10; ++i) free_used(512, {idle});
  EXPECT_EQ(runtime().events_made, 0);
  device_allocator().emptyCache();
  free_used(512, {idle});
  EXPECT_EQ(runtime().events_made, 1) << "they went with the cache";
}

TEST_F(PendingMemoryTest, ABusyStreamKeepsNothingBackThatAnotherUsed) {
  busy_stream busy;
  const c10::Stream idle = core::new_stream(0, 0);
  void* const kept = free_used(8 * mebibyte, {busy});
  void* const free = free_used(8 * mebibyte, {idle});
  const c10::DataPtr next = allocate_on(0, 8 * mebibyte);
  EXPECT_EQ(next.get(), free);
  busy.finish();
  const c10::DataPtr last = allocate_on(0, 8 * mebibyte);
  EXPECT_EQ(last.get(), kept);
}

TEST_F(PendingMemoryTest, ABlockWaitsForEachOfItsStreams) {
  busy_stream busy, other;
  const c10::Stream idle = core::new_stream(0, 0);
  void* const place = free_used(8 * mebibyte, {idle, busy, other});
  EXPECT_NE(allocate_on(0, 8 * mebibyte).get(), place);
  other.finish();
  const c10::DataPtr second = allocate_on(0, 8 * mebibyte);
  EXPECT_NE(second.get(), place);
  busy.finish();
  const c10::DataPtr third = allocate_on(0, 8 * mebibyte);
  EXPECT_EQ(third.get(), place);
}

TEST_F(PendingMemoryTest, TwoThreadsWaitForWhatIsPending) {
  busy_stream busy;
  free_used(40 * mebibyte, {busy});
  runtime().events_awaited = 0;
  auto emptying = std::async(std::launch::async, [] { device_allocator().emptyCache(); });
  ASSERT_TRUE(comes_true([] { return runtime().events_awaited == 1; }));
  auto allocating = std::async(std::launch::async, [] { return allocate_on(0, 40 * mebibyte); });
  const auto has_ended = [&] {
    return allocating.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  EXPECT_TRUE(comes_true([&] { return runtime().events_awaited == 2 || has_ended(); }));
  EXPECT_FALSE(has_ended()) << "without having waited";
  busy.finish();
  emptying.get();
  EXPECT_NE(allocating.get().get(), nullptr);
}

TEST_F(PendingMemoryTest, WhatAnotherThreadGivesBackIsWaitedFor) {
  allocate_on(0, 40 * mebibyte).clear();
  std::atomic<bool> is_freeing{false}, may_go_on{false};
  runtime().before_free = [&] {
    is_freeing = true;
    may_go_on.wait(false);
  };
  auto emptying = std::async(std::launch::async, [] { device_allocator().emptyCache(); });
  ASSERT_TRUE(comes_true([&] { return is_freeing.load(); }));
  auto allocating = std::async(std::launch::async, [] { return allocate_on(0, 40 * mebibyte); });
  EXPECT_EQ(allocating.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  may_go_on = true;
  may_go_on.notify_all();
  emptying.get();
  EXPECT_NE(allocating.get().get(), nullptr);
}

TEST_F(PendingMemoryTest, WhatIsTakenAndFreedWhileOneWaitsIsWaitedForToo) {
  const c10::Stream other = core::new_stream(0, 0);
  allocate_on(0, 24 * mebibyte).clear();
  runtime().before_free = [&] {
    runtime().before_free = nullptr;
    free_used(40 * mebibyte, {other});
  };
  const c10::DataPtr large = allocate_on(0, 60 * mebibyte);  // gives the 24 MiB back for that
  EXPECT_NE(large.get(), nullptr);
  EXPECT_EQ(stats().num_ooms, 0);
}

TEST_F(PendingMemoryTest, MemoryHasOwnersUntilTheLastOneGoes) {
  c10::DataPtr first = allocate_on(0, 8 * mebibyte);
  void* const place = first.get();
  c10::DataPtr second = core::share_memory(first, c10::Device(c10::kCPU));
  EXPECT_EQ(second.get(), place);
  EXPECT_TRUE(second.device().is_cpu());
  first.clear();
  EXPECT_NE(allocate_on(0, 8 * mebibyte).get(), place);
  EXPECT_GE(stats().active_bytes[0].current, static_cast<int64_t>(8 * mebibyte));
  second.clear();
  EXPECT_EQ(stats().active_bytes[0].current, 0);
  first = allocate_on(0, 8 * mebibyte);
  second = core::share_memory({place, c10::Device(c10::kCPU)}, c10::Device(c10::kCPU));
  EXPECT_EQ(second.get(), nullptr) << "not this allocator's";
}

// ---- Captures that come in between

std::shared_ptr<core::capture> capture_on(const c10::Stream& stream) {
  return std::make_shared<core::capture>(
      core::capture::properties{.first = stream, .pool = {0, 1 << 20}, .pool_is_fresh = true});
}

TEST_F(PendingMemoryTest, AnEventThatWentIntoACaptureSaysNothing) {
  const c10::Stream side = core::new_stream(0, 0);
  c10::DataPtr used = allocate_on(0, 8 * mebibyte);
  void* const place = used.get();
  device_allocator().recordStream(used, side);
  core::device_graph graph(/*keep_graph=*/false);
  runtime().before_record = [&] {
    const c10::Stream before = core::exchange_stream(side);
    graph.capture_begin();
    core::exchange_stream(before);
  };
  used.clear();
  EXPECT_NE(allocate_on(0, 8 * mebibyte).get(), place);
  const c10::Stream before = core::exchange_stream(side);
  graph.capture_end();
  core::exchange_stream(before);
  device_allocator().emptyCache();
  EXPECT_EQ(stats().active_bytes[0].current, 0);
}

TEST_F(PendingMemoryTest, ACaptureThatBeginsKeepsTheMemoryThatWasToGo) {
  busy_stream busy;
  const c10::Stream captured = core::new_stream(0, 0);
  std::optional<core::open_capture> open;
  free_used(4 * mebibyte, {busy});
  allocate_on(0, 8 * mebibyte).clear();
  busy.finish();
  runtime().after_event_sync = [&] { open.emplace(capture_on(captured)); };
  EXPECT_THROW(device_allocator().emptyCache(), c10::Error);
  runtime().after_event_sync = nullptr;
  open.reset();
  EXPECT_EQ(stats().reserved_bytes[0].current, static_cast<int64_t>(12 * mebibyte));
  const c10::DataPtr whole = allocate_on(0, 8 * mebibyte);
  EXPECT_EQ(stats().reserved_bytes[0].current, static_cast<int64_t>(12 * mebibyte));
}

TEST_F(PendingMemoryTest, NothingIsForgottenThatIsFreedWhenACaptureEnds) {
  const c10::Stream side = core::new_stream(0, 0);
  const c10::Stream captured = core::new_stream(0, 0);
  std::atomic<bool> is_over{false};
  std::thread freeing([&] {
    while (!is_over) free_used(512, {side});
  });
  for (int i = 0; i < 20000; ++i) {
    const core::open_capture open(capture_on(captured));
  }
  is_over = true;
  freeing.join();
  device_allocator().emptyCache();
  EXPECT_EQ(stats().active_bytes[0].current, 0);
}

}  // namespace
}  // namespace outback::test
