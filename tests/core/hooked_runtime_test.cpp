// What core makes of a driver's answers that no runtime of the tree gives by itself: a device that
// cannot be selected, and work that others enqueue while the host waits. And how often it calls the
// driver.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <future>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/host_failure.h"
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
#include "backend_template/core/streams/stream.h"
#include "tests/core/hooked_runtime.h"

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

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

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

TEST_F(HookedRuntimeTest, MarksAndRangesOfTorchsProfilerAreTheDrivers) {
  const auto& stubs = *torch::profiler::impl::privateuse1Stubs();
  stubs.rangePush("step");
  stubs.mark("here");
  stubs.rangePop();
  EXPECT_THAT(runtime().ranges, testing::ElementsAre("push step", "mark here", "pop"));
}

}  // namespace
}  // namespace outback::test
