// A device whose kernels are those of another device type of PyTorch's: what is its twin's, and
// that both share one of each. Device 0 has a twin, and device 1 is hidden from PyTorch's type.
#include "backend_template/core/twin/twin.h"

#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <torch/library.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <utility>

#include "backend_template/core/graphs/device_graph.h"
#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/interfaces/hooks.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/memory/storage.h"
#include "backend_template/core/memory/twin_memory.h"
#include "backend_template/core/streams/event.h"
#include "backend_template/core/streams/native.h"
#include "backend_template/core/streams/stream.h"
#include "outback/backend.h"
#include "tests/twin/hpu.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::ThrowsMessage;

const c10::Device twin(hpu, 0);

c10::Device device(c10::DeviceIndex index) {
  return c10::Device(core::device_type, index);
}
c10::Stream ours(c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, device(0), id);
}
c10::Stream theirs(c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, twin, id);
}

struct warnings final : c10::WarningHandler {
  void process(const c10::Warning& warning) override { text += warning.msg(); }
  std::string text;
};

class TwinTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_hpu(/*devices=*/1);
    static torch::Library kernels(torch::Library::IMPL, "aten", c10::DispatchKey::HPU, __FILE__, 0);
    kernels.impl("empty.memory_format", torch::CppFunction::makeFallthrough());
    register_backend({.name = "acme", .runtime = &hpu_runtime()});
    // Before the start: what is kept until there is a twin to tell.
    at::Generator early = core::default_generator(0);
    early.set_current_seed(17);
    early.set_offset(8);
    EXPECT_EQ(core::current_stream(0).id(), 0);
    EXPECT_FALSE(core::started_twin_of(0));

    hpu_start_problem() = "the driver is too old";
    warnings heard;
    {
      const c10::WarningUtils::WarningHandlerGuard listen(&heard);
      EXPECT_FALSE(core::twin_of(0));
      EXPECT_FALSE(core::twin_of(0));  // and warns once
    }
    EXPECT_THAT(heard.text, HasSubstr("acme: operators run over copies, since PyTorch's own HPU "
                                      "does not start: the driver is too old"));
    EXPECT_EQ(heard.text.find("over copies"), heard.text.rfind("over copies"));
    hpu_start_problem().clear();
    core::detail::kernel_homes[0].value = core::detail::kernel_home::unknown;
  }
  void SetUp() override {
    ASSERT_EQ(core::twin_of(0), twin);
    hpu_recorded().clear();
  }
  void TearDown() override { core::exchange_stream(core::default_stream(0)); }
};

TEST_F(TwinTest, ADeviceThatPyTorchDoesNotHaveHasNoTwin) {
  EXPECT_FALSE(core::twin_of(1));
  EXPECT_FALSE(core::runs_cpu_kernels(0));
  EXPECT_FALSE(core::runs_cpu_kernels(1));
  EXPECT_EQ(core::device_of_twin(twin), device(0));
  EXPECT_EQ(core::known_twin_type(), hpu);
  const c10::DataPtr memory = core::allocate_on(1, 64);
  EXPECT_EQ(core::twins_memory_in(memory), nullptr);
  core::mark_busy(core::current_stream(1));
  core::drain(1);
  EXPECT_TRUE(core::is_idle(core::current_stream(1)));
}

TEST_F(TwinTest, WithoutAnIndexItIsTheCurrentDevices) {
  EXPECT_EQ(core::twin_of(-1), twin);
  const c10::DeviceGuard on_another(device(1));
  EXPECT_FALSE(core::twin_of(-1));
}

TEST_F(TwinTest, AnIndexThatDoesNotExistIsRefused) {
  const c10::Stream nowhere(c10::Stream::UNSAFE, device(7), 0);
  EXPECT_THROW(core::exchange_stream(nowhere), c10::Error);
  EXPECT_THROW(core::synchronize_stream(nowhere), c10::Error);
  EXPECT_THROW(core::event().record(nowhere), c10::Error);
  EXPECT_THROW(core::allocate_on(7, 1), c10::Error);
  EXPECT_THROW(core::new_stream(7, 0), c10::Error);
}

// ---- Streams

TEST_F(TwinTest, ItsStreamsAreTheTwinsWithTheSameIds) {
  const c10::Stream made = core::new_stream(0, 0);
  EXPECT_EQ(made.device(), device(0));
  EXPECT_NE(made.id(), 0);
  EXPECT_EQ(core::exchange_stream(made), ours(0));
  EXPECT_EQ(hpu_guard().getStream(twin), theirs(made.id()));
  hpu_guard().exchangeStream(theirs(0));
  EXPECT_EQ(core::current_stream(0), ours(0));
  EXPECT_EQ(core::default_stream(0), ours(0));
  EXPECT_GT(core::pool_stream(0, /*high_priority=*/true).id(), made.id());
  c10::StreamId in_thread = -1;
  {
    const c10::StreamGuard on_made(made);
    EXPECT_EQ(hpu_guard().getStream(twin).id(), made.id());
    std::thread([&] { in_thread = core::current_stream(0).id(); }).join();
  }
  EXPECT_EQ(in_thread, 0);
  EXPECT_EQ(hpu_guard().getStream(twin).id(), 0);
}

TEST_F(TwinTest, TheRuntimeWorksOnTheTwinsStreams) {
  const c10::Stream made = core::new_stream(0, 0);
  const outback_stream handle = core::handle_of(made);
  EXPECT_EQ(core::handle_of(made), handle);
  EXPECT_NE(core::handle_of(ours(0)), handle);
  EXPECT_EQ(core::native_stream(made), hpu_guard().getStreamNativeHandle(theirs(made.id())));
  void* native = nullptr;
  check_hpu(hpu_runtime().native->stream(hpu_runtime().self, 0, handle, &native));
  EXPECT_EQ(core::native_stream(made), native);
  const c10::Stream external = core::wrap_native_stream(0, native);
  EXPECT_EQ(external.id(), reinterpret_cast<c10::StreamId>(native));
  EXPECT_EQ(core::native_stream(external), native);
  EXPECT_EQ(core::handle_of(external), handle);
}

TEST_F(TwinTest, WaitsAreTheTwins) {
  constexpr size_t large = size_t{16} << 20;
  const c10::DataPtr source = core::host_allocator().allocate(large);
  const c10::DataPtr target = core::allocate_on(0, large);
  std::memset(source.get(), 7, large);
  const c10::Stream made = core::new_stream(0, 0);
  core::exchange_stream(made);
  for (int i = 0; i < 8; ++i) {
    core::copy_bytes(target.get(), device(0), source.get(), c10::kCPU, large, true);
  }
  EXPECT_THAT(hpu_recorded(), ::testing::Contains(Pair(source.get(), theirs(made.id()))));
  EXPECT_FALSE(core::query_stream(made));
  EXPECT_FALSE(core::is_idle(made));
  c10::Event done(core::device_type);
  done.record(made);
  done.block(ours(0));
  core::drain(0);
  EXPECT_TRUE(core::query_stream(made));
  EXPECT_TRUE(done.query());
  EXPECT_EQ(static_cast<const char*>(target.get())[large - 1], 7);
  EXPECT_FALSE(core::is_idle(made));  // it is not asked
  core::synchronize_stream(ours(0));
  core::synchronize_device(0);
  EXPECT_EQ(core::capture_status(made), OUTBACK_CAPTURE_NONE);
}

// ---- Events

TEST_F(TwinTest, AnEventIsTheTwinsUnlessItNeedsMore) {
  core::event plain(OUTBACK_EVENT_TIMING);
  plain.create(0);
  EXPECT_EQ(plain.twins_event(), nullptr);
  EXPECT_TRUE(plain.query());
  plain.block(ours(0));
  plain.record(ours(0));
  EXPECT_NE(plain.twins_event(), nullptr);
  EXPECT_EQ(plain.handle(), nullptr);
  EXPECT_EQ(core::native_event(plain), plain.twins_event());
  core::event end(OUTBACK_EVENT_TIMING);
  end.record(ours(0));
  end.synchronize();
  EXPECT_GE(plain.elapsed_ns(end), 0);
  core::event moved = std::move(end);
  EXPECT_EQ(end.twins_event(), nullptr);
  EXPECT_TRUE(moved.query());
  moved.block(core::default_stream(1));  // a device without a twin: the host waits

  core::event shared(OUTBACK_EVENT_INTERPROCESS);
  shared.record(ours(0));
  EXPECT_EQ(shared.twins_event(), nullptr);
  EXPECT_NE(shared.handle(), nullptr);
  shared.block(ours(0));
  shared.synchronize();
  EXPECT_THROW(moved.elapsed_ns(shared), c10::Error);

  plain.record(core::default_stream(1));
  EXPECT_EQ(plain.twins_event(), nullptr);
  EXPECT_NE(plain.handle(), nullptr);
  plain.record(ours(0));
  EXPECT_NE(plain.twins_event(), nullptr);
}

// ---- Memory

TEST_F(TwinTest, MemoryIsTheTwinsUntilItsLastOwnerGoes) {
  const int64_t before = hpu_allocator().getDeviceStats(0).allocated_bytes[0].current;
  const int freed = hpu_counted().freed;
  c10::DataPtr memory = core::allocate_on(0, 100);
  EXPECT_EQ(memory.device(), device(0));
  ASSERT_NE(core::twins_memory_in(memory), nullptr);
  EXPECT_EQ(core::twins_memory_in(memory)->device(), twin);
  EXPECT_EQ(core::twins_memory_in(memory)->get(), memory.get());
  c10::DeviceAllocator& allocator = core::device_allocator();
  EXPECT_EQ(allocator.getDeviceStats(0).allocated_bytes[0].current, before + 100);
  EXPECT_FALSE(core::is_of_pool(memory, {0, 1}));

  c10::DataPtr alias = core::share_memory(memory, twin);
  EXPECT_EQ(alias.device(), twin);
  c10::DataPtr back = core::adopt_twin_memory(std::move(alias), 100, device(0));
  EXPECT_EQ(back.device(), device(0));
  memory.clear();
  EXPECT_EQ(hpu_counted().freed, freed);
  back.clear();
  EXPECT_EQ(hpu_counted().freed, freed + 1);
  EXPECT_EQ(allocator.getDeviceStats(0).allocated_bytes[0].current, before);
  EXPECT_GE(allocator.getDeviceStats(0).allocated_bytes[0].peak, before + 100);
  allocator.resetPeakStats(0);
  EXPECT_EQ(allocator.getDeviceStats(0).allocated_bytes[0].peak, before);
  allocator.resetAccumulatedStats(0);
  EXPECT_EQ(allocator.getDeviceStats(0).allocated_bytes[0].allocated, 0);
  EXPECT_THAT(allocator.getMemoryInfo(0), Pair(4, 8));
  const int emptied = hpu_counted().emptied;
  allocator.emptyCache();
  EXPECT_EQ(hpu_counted().emptied, emptied + 1);
}

TEST_F(TwinTest, WhatATwinsKernelAllocatedIsAdoptedWithoutACopy) {
  c10::DataPtr made = hpu_allocator().allocate(32);
  void* const data = made.get();
  const c10::DataPtr adopted = core::adopt_twin_memory(std::move(made), 32, device(0));
  EXPECT_EQ(adopted.get(), data);
  EXPECT_EQ(adopted.device(), device(0));
  const c10::DataPtr none = core::adopt_twin_memory({nullptr, twin}, 0, device(0));
  EXPECT_EQ(none.get(), nullptr);
  EXPECT_EQ(none.device(), device(0));
  EXPECT_EQ(core::allocate_on(0, 0).get(), nullptr);
  EXPECT_THROW(core::allocate_on(0, size_t{1} << 40), c10::OutOfMemoryError);
}

TEST_F(TwinTest, WhatTheCpuAllocatedIsCopied) {
  c10::DataPtr made = c10::GetAllocator(c10::kCPU)->allocate(4);
  std::memcpy(made.get(), "abc", 4);
  const c10::DataPtr adopted = core::adopt(std::move(made), 4, 0);
  EXPECT_NE(core::twins_memory_in(adopted), nullptr);
  EXPECT_STREQ(static_cast<const char*>(adopted.get()), "abc");
}

TEST_F(TwinTest, TheTwinsAllocatorLearnsWhoUsesItsMemory) {
  const c10::DataPtr memory = core::allocate_on(0, 100);
  const c10::Stream made = core::new_stream(0, 0);
  core::device_allocator().recordStream(memory, made);
  core::device_allocator().recordStream(core::share_memory(memory, twin), theirs(made.id()));
  core::device_allocator().recordStream(core::allocate_on(0, 0), made);
  EXPECT_THAT(hpu_recorded(), ::testing::ElementsAre(Pair(memory.get(), theirs(made.id())),
                                                     Pair(memory.get(), theirs(made.id()))));
}

TEST_F(TwinTest, AStorageGrowsInTheTwinsMemory) {
  c10::Storage storage = core::make_storage(core::allocate_on(0, 4), 4);
  core::fill_bytes(storage.mutable_data(), 0, 4, "x", 1);
  core::resize_storage(*storage.unsafeGetStorageImpl(), 8);
  core::drain(0);
  EXPECT_EQ(std::memcmp(storage.data(), "xxxx", 4), 0);
  EXPECT_NE(core::twins_memory_in(storage.data_ptr()), nullptr);
}

TEST_F(TwinTest, PinnedMemoryIsTheTwins) {
  at::HostAllocator& allocator = core::host_allocator();
  const int64_t before = hpu_host_allocator().get_stats().num_host_alloc;
  const c10::DataPtr memory = allocator.allocate(64);
  EXPECT_EQ(allocator.get_stats().num_host_alloc, before + 1);
  EXPECT_TRUE(core::is_pinned(memory.get()));
  EXPECT_TRUE(core::accelerator_hooks().isPinnedPtr(memory.get()));
  EXPECT_FALSE(core::is_pinned(&before));
  EXPECT_TRUE(allocator.record_event(memory.get(), memory.get_context(), ours(0)));
  EXPECT_THAT(hpu_recorded(), ::testing::ElementsAre(Pair(memory.get(), theirs(0))));
  const int emptied = hpu_counted().emptied;
  allocator.empty_cache();
  EXPECT_EQ(hpu_counted().emptied, emptied + 1);
}

// ---- Random numbers

at::Generator twins_default() {
  return at::globalContext().defaultGenerator(twin);
}

TEST_F(TwinTest, TheDefaultGeneratorIsTheTwins) {
  at::Generator mine = core::default_generator(0);
  static bool is_first = true;
  if (std::exchange(is_first, false)) {  // what it was told before the start
    EXPECT_EQ(core::twin_generator({}, 0), twins_default());
    EXPECT_EQ(twins_default().current_seed(), 17);
    EXPECT_EQ(twins_default().get_offset(), 8);
  }
  EXPECT_EQ(mine.device(), device(0));
  EXPECT_EQ(core::twin_generator(mine, 0), twins_default());
  mine.set_current_seed(5);
  EXPECT_EQ(twins_default().current_seed(), 5);
  twins_default().set_offset(12);
  EXPECT_EQ(mine.get_offset(), 12);
  const at::Tensor state(mine.get_state());
  const at::Tensor same(twins_default().get_state());
  ASSERT_EQ(state.numel(), 16);
  EXPECT_EQ(std::memcmp(state.const_data_ptr(), same.const_data_ptr(), 16), 0);
  mine.seed();
  EXPECT_EQ(mine.current_seed(), twins_default().current_seed());
  mine.set_state(state);
  EXPECT_EQ(twins_default().current_seed(), 5);
  EXPECT_EQ(twins_default().get_offset(), 12);
  EXPECT_THROW(mine.set_offset(3), c10::Error);
  core::shadow_generator({}, 0);
  EXPECT_EQ(twins_default().get_offset(), 16);
}

TEST_F(TwinTest, ANewGeneratorHasANewOneOfTheTwins) {
  at::Generator mine = core::accelerator_hooks().getNewGenerator(0);
  mine.set_current_seed(9);
  at::Generator behind = core::twin_generator(mine, 0);
  EXPECT_NE(behind, twins_default());
  EXPECT_EQ(behind.device(), twin);
  EXPECT_EQ(behind.current_seed(), 9);
  at::Generator copy = mine.clone();
  copy.set_current_seed(10);
  EXPECT_EQ(mine.current_seed(), 9);
  at::Generator sharing = mine.graphsafe_get_state();
  sharing.set_current_seed(11);
  EXPECT_EQ(behind.current_seed(), 11);
  copy.graphsafe_set_state(sharing);
  copy.set_offset(4);
  EXPECT_EQ(mine.get_offset(), 4);
  EXPECT_THROW(core::twin_generator({}, 1), c10::Error);
  EXPECT_THROW(copy.graphsafe_set_state(core::default_generator(1)), c10::Error);
}

// ---- The rest

TEST_F(TwinTest, AGraphIsTheTwinsMatter) {
  core::exchange_stream(core::new_stream(0, 0));
  core::device_graph graph(/*keep_graph=*/false);
  EXPECT_THAT([&] { graph.capture_begin({0, 0}); },
              ThrowsMessage<c10::NotImplementedError>(
                  HasSubstr("acme: work on this device is captured in a graph of hpu:0")));
}

TEST_F(TwinTest, ItsContextIsTheTwins) {
  EXPECT_TRUE(core::accelerator_hooks().hasPrimaryContext(0));
}

TEST_F(TwinTest, AForkedChildFreesNothing) {
  c10::DataPtr memory = core::allocate_on(0, 100);
  core::event recorded;
  recorded.record(ours(0));
  const int freed = hpu_counted().freed;
  const pid_t child = fork();
  if (child == 0) {
    memory.clear();
    {
      const core::event gone = std::move(recorded);
    }
    bool refuses = false;
    try {
      core::allocate_on(0, 100);
    } catch (const c10::Error&) {
      refuses = true;
    }
    _exit(refuses && hpu_counted().freed == freed ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace outback::test
