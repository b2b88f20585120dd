// What core makes of a driver's answers that no runtime of the tree gives by itself: a device that
// cannot be selected, work that others enqueue while the host waits, and captures and other threads
// that come in between. And how often it calls the driver.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend_template/core/captures/capture.h"
#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/graphs/device_graph.h"
#include "backend_template/core/interfaces/hooks.h"
#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/core/memory/allocator/freeing.h"
#include "backend_template/core/memory/allocator/size_policy.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/runtime/runtime.h"
#include "backend_template/core/streams/host_callback.h"
#include "backend_template/core/streams/host_failure.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/backend.h"
#include "outback/runtime.hpp"

namespace {
// While it is set, this thread can allocate nothing.
thread_local constinit bool memory_has_run_out = false;
}  // namespace

// With the address sanitizer, memory of the other forms of new does not come from here, and may be
// deleted here.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's name
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() {
  return "alloc_dealloc_mismatch=0";
}

// Not inlined, or GCC warns of free() for memory of operator new.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const memory = memory_has_run_out ? nullptr : std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace outback::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class hooked_runtime : public host::host_runtime {
 public:
  hooked_runtime() : host_runtime({.devices = 2, .memory_size = size_t{64} << 20}) {}

  void device_select(int32_t device) {
    selected.push_back(device);
    if (device == refused) throw invalid_argument("the driver does not select this device");
    host_runtime::device_select(device);
  }
  bool device_is_active(int32_t device) {
    if (device == refused) throw invalid_argument("the driver does not know this device");
    return host_runtime::device_is_active(device);
  }
  outback_pointer_info host_info(const void* memory) {
    outback_pointer_info info = host_runtime::host_info(memory);
    if (wrong_device != 0) info.device = wrong_device;
    return info;
  }
  void graph_instantiate(int32_t device, outback_graph graph) {
    if (device == refused) throw invalid_argument("the driver does not run this graph");
    host_runtime::graph_instantiate(device, graph);
  }
  void device_sync(int32_t device) {
    host_runtime::device_sync(device);
    if (after_sync) after_sync();
  }
  void mem_free(int32_t device, void* memory) {
    if (before_free) before_free();
    host_runtime::mem_free(device, memory);
  }
  bool stream_query(int32_t device, outback_stream stream) {
    ++streams_asked;
    if (fails_when_asked) {
      fails_when_asked = false;
      throw invalid_argument("the work that was enqueued has failed");
    }
    return host_runtime::stream_query(device, stream);
  }
  outback_event event_create(int32_t device, uint32_t flags) {
    ++events_made;
    return host_runtime::event_create(device, flags);
  }
  void event_record(int32_t device, outback_event event, outback_stream stream) {
    if (before_record) std::exchange(before_record, nullptr)();
    host_runtime::event_record(device, event, stream);
  }
  bool event_query(int32_t device, outback_event event) {
    ++events_asked;
    return host_runtime::event_query(device, event);
  }
  void event_sync(int32_t device, outback_event event) {
    ++events_awaited;
    host_runtime::event_sync(device, event);
    if (after_event_sync) after_event_sync();
  }

  static inline thread_local std::vector<int32_t> selected;  // by this thread
  int32_t refused = -1;
  int32_t wrong_device = 0;  // what host_info says, if it is not 0
  std::function<void()> after_sync, before_free, before_record, after_event_sync;
  std::atomic<bool> fails_when_asked{false};
  std::atomic<int> streams_asked{0}, events_made{0}, events_asked{0}, events_awaited{0};
};

hooked_runtime& runtime() {
  static auto& it = *new hooked_runtime;
  return it;
}

class HookedRuntimeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    // Who finds the runtime installed finds its name too.
    std::thread reader([] {
      while (!core::is_installed()) std::this_thread::yield();
      EXPECT_EQ(core::backend_name(), "acme");
    });
    register_backend({.name = "acme", .runtime = table_of(runtime())});
    reader.join();
  }
  void SetUp() override { core::synchronize_device(0); }
  void TearDown() override {
    runtime().refused = -1;
    runtime().wrong_device = 0;
    runtime().after_sync = runtime().before_free = runtime().before_record =
        runtime().after_event_sync = nullptr;
    core::exchange_stream(core::default_stream(0));
    core::exchange_stream(core::default_stream(1));
    core::set_device(0);
  }
};

// What a thread makes the driver select.
template <class F>
std::vector<int32_t> selected_by(F f) {
  runtime().selected.clear();
  f();
  return std::exchange(runtime().selected, {});
}

template <class F>
std::vector<int32_t> selected_by_a_new_thread(F f) {
  return std::async(std::launch::async, [&] { return selected_by(f); }).get();
}

using devices = std::vector<int32_t>;

// The first test of the program, since the backend starts only once.
class BeforeTheStartTest : public HookedRuntimeTest {
 protected:
  void SetUp() override {}
};

TEST_F(BeforeTheStartTest, TheDriverGetsToKnowTheDeviceWhenItStarts) {
  if (core::is_started())
    GTEST_SKIP() << "needs a backend that no other test has started: run it first, or alone";
  std::promise<void> is_set, has_started;
  auto other = std::async(std::launch::async, [&] {
    return selected_by([&] {
      core::set_device(1);
      is_set.set_value();
      has_started.get_future().wait();
      EXPECT_TRUE(runtime().selected.empty());
      core::exchange_device(1);
    });
  });
  is_set.get_future().wait();
  EXPECT_EQ(selected_by([] { core::set_device(1); }), devices{});
  EXPECT_EQ(selected_by([] { core::ensure_started(); }), devices{1});
  EXPECT_EQ(selected_by([] { core::set_device(1); }), devices{}) << "it knows it";
  has_started.set_value();
  EXPECT_EQ(other.get(), devices{1}) << "for a thread that has not started the backend";
}

TEST_F(HookedRuntimeTest, TheDriverIsToldTheDeviceOfANewThread) {
  EXPECT_EQ(selected_by_a_new_thread([] {
              core::set_device(0);
              core::exchange_device(0);
              core::set_device_unchecked(0);
            }),
            devices{0});
  EXPECT_EQ(selected_by_a_new_thread([] { core::set_device_unchecked(0); }), devices{0});
  EXPECT_EQ(selected_by_a_new_thread([] { core::exchange_device(-1); }), devices{});
}

TEST_F(HookedRuntimeTest, AfterARefusalTheDriverIsToldAgain) {
  core::set_device(0);
  runtime().refused = 1;
  EXPECT_EQ(selected_by([] {
              EXPECT_THROW(core::set_device(1), c10::Error);
              core::set_device(0);
            }),
            (devices{1, 0}));
}

TEST_F(HookedRuntimeTest, ADeviceThatCannotBeSelectedIsNotCurrent) {
  runtime().refused = 1;
  EXPECT_THROW(core::set_device(1), c10::Error);
  EXPECT_EQ(core::current_device(), 0);
}

TEST_F(HookedRuntimeTest, AStreamOfADeviceThatCannotBeSelectedIsNotCurrent) {
  const c10::Stream mine = core::new_stream(1, 0);
  runtime().refused = 1;
  EXPECT_THROW(core::make_current(mine), c10::Error);
  EXPECT_EQ(core::current_device(), 0);
  EXPECT_EQ(core::current_stream(1), core::default_stream(1));
}

TEST_F(HookedRuntimeTest, WorkThatComesWhileTheHostWaitsIsNotTakenForDone) {
  const c10::DataPtr memory = core::allocate_on(0, 16);
  const uint8_t one = 1;
  runtime().after_sync = [&] { core::fill_bytes(memory.get(), 0, 16, &one, sizeof one); };
  core::synchronize_device(0);
  runtime().after_sync = nullptr;
  EXPECT_FALSE(core::is_idle(core::default_stream(0)));
  core::synchronize_device(0);
  EXPECT_TRUE(core::is_idle(core::default_stream(0)));
}

// Core counts what it puts on a stream, and does not hear when that is over.
TEST_F(HookedRuntimeTest, AStreamThatHasFinishedIsDoneThoughNobodyWaited) {
  const c10::Stream stream = core::new_stream(0, 0);
  core::mark_busy(stream);
  EXPECT_FALSE(core::is_idle(stream));
  EXPECT_TRUE(core::is_done(stream));
  EXPECT_FALSE(core::is_idle(stream)) << "a wait is left to tell of failures on the host";
  core::synchronize_stream(stream);
  runtime().streams_asked = 0;
  EXPECT_TRUE(core::is_done(stream));
  EXPECT_EQ(runtime().streams_asked, 0) << "core knows";
}

TEST_F(HookedRuntimeTest, NoStreamIsAskedDuringACapture) {
  const c10::Stream side = core::new_stream(0, 0);
  core::mark_busy(side);
  core::exchange_stream(core::new_stream(0, 0));
  core::device_graph graph(/*keep_graph=*/false);
  graph.capture_begin();
  runtime().streams_asked = 0;
  EXPECT_FALSE(core::is_done(side));
  EXPECT_EQ(runtime().streams_asked, 0);
  graph.capture_end();
  EXPECT_TRUE(core::is_done(side));
}

// As a library does that captures with the driver: to ask such a stream would break the capture.
TEST_F(HookedRuntimeTest, NoStreamIsAskedThatOthersCapture) {
  const c10::Stream stream = core::new_stream(0, 0);
  core::mark_busy(stream);
  const outback_runtime& driver = core::runtime();
  const outback_stream handle = core::handle_of(stream);
  outback_graph graph = nullptr;
  ASSERT_EQ(driver.graphs->begin(driver.self, 0, handle), OUTBACK_OK);
  runtime().streams_asked = 0;
  EXPECT_FALSE(core::is_done(stream));
  EXPECT_EQ(runtime().streams_asked, 0);
  ASSERT_EQ(driver.graphs->end(driver.self, 0, handle, &graph), OUTBACK_OK);
  EXPECT_EQ(driver.graphs->destroy(driver.self, 0, graph), OUTBACK_OK);
  EXPECT_TRUE(core::is_done(stream));
  core::synchronize_stream(stream);
}

TEST_F(HookedRuntimeTest, AFailureThatAStreamTellsIsThrown) {
  const c10::Stream stream = core::new_stream(0, 0);
  core::mark_busy(stream);
  runtime().fails_when_asked = true;
  EXPECT_THROW(core::is_done(stream), c10::Error);
  core::synchronize_stream(stream);
}

TEST_F(HookedRuntimeTest, TheFailuresOfTwoDevicesAreBothTold) {
  core::report_host_failure(0, "it failed", "the first");
  core::report_host_failure(1, "it failed", "the second");
  EXPECT_THROW(core::synchronize_device(0), c10::Error);
  EXPECT_THROW(core::synchronize_device(1), c10::Error);
  core::synchronize_device(0);
  core::synchronize_device(1);
}

TEST_F(HookedRuntimeTest, AFailureIsKeptWithoutMemory) {
  std::string text = "an operator failed, and says so in more letters than fit into an object";
  memory_has_run_out = true;
  core::report_host_failure(0, "it failed", std::move(text));
  memory_has_run_out = false;
  EXPECT_THROW(core::synchronize_device(0), c10::Error);
}

// ---- What torch's hooks make of the driver's answers

TEST_F(HookedRuntimeTest, ThePointersDeviceIsChecked) {
  const c10::DataPtr memory = core::allocate_on(1, 64);
  const at::PrivateUse1HooksInterface& hooks = core::accelerator_hooks();
  EXPECT_EQ(hooks.getDeviceFromPtr(memory.get()).index(), 1);
  for (const int32_t wrong : {2, 300, -2, std::numeric_limits<int32_t>::min()}) {
    runtime().wrong_device = wrong;
    EXPECT_THAT([&] { hooks.getDeviceFromPtr(memory.get()); },
                ThrowsMessage<c10::AcceleratorError>(
                    HasSubstr("acme: host_memory.info(): the runtime is wrong: it ")))
        << wrong;
  }
  runtime().wrong_device = OUTBACK_HOST;
  EXPECT_THAT([&] { hooks.getDeviceFromPtr(memory.get()); },
              ThrowsMessage<c10::Error>(HasSubstr("expected memory of a device")));
}

TEST_F(HookedRuntimeTest, AnErrorNamesTheDeviceThatNoIndexMeans) {
  core::set_device(1);
  runtime().refused = 1;
  EXPECT_THAT([] { core::accelerator_hooks().hasPrimaryContext(-1); },
              ThrowsMessage<c10::Error>(HasSubstr("device_state.is_active(device 1)")));
}

TEST_F(HookedRuntimeTest, AGraphThatCannotBeInstantiatedIsEmpty) {
  const c10::Stream before = core::exchange_stream(core::new_stream(0, 0));
  core::device_graph graph(/*keep_graph=*/false);
  graph.capture_begin();
  runtime().refused = 0;
  EXPECT_THROW(graph.capture_end(), c10::Error);
  runtime().refused = -1;
  EXPECT_FALSE(graph.is_capturing());
  EXPECT_THROW(graph.pool(), c10::Error);
  EXPECT_THROW(graph.replay(), c10::Error);
  graph.capture_begin();
  graph.capture_end();
  graph.replay();
  core::exchange_stream(before);
}

TEST_F(HookedRuntimeTest, WhatAGraphUsedIsNotGivenBackWhileAnotherDeviceRunsIt) {
  core::device_allocator().emptyCache();
  core::set_device(1);
  const c10::Stream first = core::new_stream(1, 0), other = core::new_stream(0, 0);
  core::exchange_stream(first);
  core::exchange_stream(other);
  core::device_graph graph(/*keep_graph=*/false);
  graph.capture_begin();
  core::event begun, done;
  begun.record(first);
  begun.block(other);
  EXPECT_TRUE(core::is_of_pool(core::allocate_on(0, 512), graph.pool()));
  done.record(other);
  done.block(first);
  graph.capture_end();

  std::atomic<bool> may_end{false}, has_ended{false}, freed_early{false};
  core::enqueue_host_callback(first, [&] {
    may_end.wait(false);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    has_ended = true;
  });
  graph.replay();
  graph.reset();
  // Device 0 is waited for, and nothing runs there.
  runtime().after_sync = [&] {
    may_end = true;
    may_end.notify_all();
  };
  runtime().before_free = [&] { freed_early = freed_early || !has_ended; };
  core::device_allocator().emptyCache();
  EXPECT_FALSE(freed_early);
  core::synchronize_device(1);
}

// ---- Without memory of the host's

TEST_F(HookedRuntimeTest, WhatCannotBeWrittenDownIsLeftOut) {
  core::record_history({.enabled = true, .most_entries = 1000});
  core::set_history_metadata("a text that is longer than what fits into the object of a string");
  c10::DataPtr memory = core::allocate_on(0, 512);
  memory_has_run_out = true;
  memory.clear();
  memory_has_run_out = false;
  std::vector<core::trace_entry> entries = core::cache_of(0).trace(nullptr);
  ASSERT_FALSE(entries.empty());
  for (const core::trace_entry& entry : entries) {
    EXPECT_NE(entry.action_, core::trace_entry::FREE_REQUESTED);
  }
  core::set_history_metadata("");
  core::record_history({});
}

TEST_F(HookedRuntimeTest, AStackThatCannotBeHadIsNoReasonToFail) {
  core::record_history(
      {.enabled = true,
       .gather = []() -> std::shared_ptr<c10::GatheredContext> { throw std::bad_alloc(); },
       .contexts = c10::CachingDeviceAllocator::RecordContext::ALL,
       .most_entries = 1000});
  core::allocate_on(0, 512).clear();
  EXPECT_FALSE(core::cache_of(0).trace(nullptr).empty());
  core::record_history({});
}

TEST_F(HookedRuntimeTest, NothingIsSaidWhereThereIsNoMemoryForTheText) {
  core::set_device(0);
  runtime().refused = 1;
  memory_has_run_out = true;
  core::set_device_unchecked(1);
  memory_has_run_out = false;
  EXPECT_EQ(core::current_device(), 1);
}

// ---- What streams still use

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
  EXPECT_THAT([] { core::synchronize_device(0); },
              ThrowsMessage<c10::Error>(
                  AllOf(HasSubstr("acme: work failed that memory was freed behind: "),
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
