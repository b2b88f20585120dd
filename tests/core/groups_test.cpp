// The optional groups of a runtime as core offers them, on a runtime that has them all.
#include <ATen/core/CachingHostAllocator.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "backend_template/core/devices/peer.h"
#include "backend_template/core/devices/telemetry.h"
#include "backend_template/core/graphs/device_graph.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/streams/event.h"
#include "backend_template/core/streams/host_callback.h"
#include "backend_template/core/streams/native.h"
#include "backend_template/core/streams/stream.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class GroupTest : public BackendTest {};

TEST_F(GroupTest, PeersReachEachOther) {
  EXPECT_TRUE(core::can_access_peer(0, 1));
  EXPECT_FALSE(core::can_access_peer(0, 0));
}

TEST_F(GroupTest, APeerIsAnotherDeviceThatThereIs) {
  EXPECT_THROW(core::can_access_peer(0, 7), c10::AcceleratorError);
  EXPECT_THROW(core::can_access_peer(7, 0), c10::AcceleratorError);
}

TEST_F(GroupTest, ACallbackRunsInTheOrderOfItsStream) {
  const c10::Stream stream = core::new_stream(0, 0);
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) {
    core::enqueue_host_callback(stream, [&order, i] { order.push_back(i); });
  }
  core::synchronize_stream(stream);
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[i], i);
}

TEST_F(GroupTest, DrainWaitsForCallbacks) {
  std::atomic<bool> open{false};
  std::atomic<bool> ran{false};
  const c10::Stream before = core::exchange_stream(core::new_stream(0, 0));
  core::enqueue_host_callback(core::current_stream(0), [&] {
    while (!open) {
    }
    ran = true;
  });
  EXPECT_FALSE(core::is_idle(core::current_stream(0)));
  open = true;
  core::drain(0);
  EXPECT_TRUE(ran);
  core::exchange_stream(before);
}

TEST_F(GroupTest, TheStreamGoesOnAfterACallbackThatThrew) {
  const c10::Stream stream = core::new_stream(0, 0);
  core::enqueue_host_callback(stream, [] { throw std::runtime_error("expected by the test"); });
  bool after = false;
  core::enqueue_host_callback(stream, [&after] { after = true; });
  core::synchronize_stream(stream);
  EXPECT_TRUE(after);
}

TEST_F(GroupTest, AnEmptyCallbackIsRefused) {
  EXPECT_THROW(core::enqueue_host_callback(core::default_stream(0), nullptr), c10::ValueError);
}

TEST_F(GroupTest, AnExternalStreamIsTheOneThatItStandsFor) {
  const c10::Stream owner = core::new_stream(1, 0);
  void* const handle = core::native_stream(owner);
  const c10::Stream wrapped = core::wrap_native_stream(1, handle);
  EXPECT_EQ(core::wrap_native_stream(1, handle), wrapped);
  EXPECT_NE(wrapped, owner);
  EXPECT_EQ(core::native_stream(wrapped), handle);
  // What the owner puts there, drain does not know of; it waits all the same.
  std::atomic<bool> ran{false};
  std::atomic<bool> open{false};
  core::enqueue_host_callback(owner, [&] {
    while (!open) {
    }
    ran = true;
  });
  const c10::Stream before = core::exchange_stream(wrapped);
  open = true;
  core::drain(1);
  EXPECT_TRUE(ran);
  core::exchange_stream(before);
}

TEST_F(GroupTest, NativeHandles) {
  EXPECT_NE(core::native_device(0), nullptr);
  EXPECT_NE(core::native_context(0), nullptr);
  EXPECT_EQ(core::native_context(0), core::native_context(1)) << "the host has one";
  core::event recorded;
  EXPECT_THAT([&] { core::native_event(recorded); },
              ThrowsMessage<c10::Error>(HasSubstr("before it was recorded")));
  recorded.record(core::default_stream(0));
  EXPECT_NE(core::native_event(recorded), nullptr);
}

TEST_F(GroupTest, Telemetry) {
  const int64_t before = core::read_telemetry(0, OUTBACK_METRIC_MEMORY_USED);
  const c10::DataPtr held = core::allocate_on(0, size_t{4} << 20);
  EXPECT_GE(core::read_telemetry(0, OUTBACK_METRIC_MEMORY_USED), before);
  EXPECT_GT(core::read_telemetry(0, OUTBACK_METRIC_MEMORY_USED), 0);
  EXPECT_THROW(core::read_telemetry(0, 12345), c10::NotImplementedError);
  const auto processes = core::read_processes(0);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].pid, getpid());
  EXPECT_EQ(int64_t(processes[0].memory), core::read_telemetry(0, OUTBACK_METRIC_MEMORY_USED));
}

TEST_F(GroupTest, AGraphReplaysWhatWasCaptured) {
  constexpr size_t size = size_t{1} << 20;
  const c10::DataPtr data = core::allocate_on(0, size);
  const c10::DataPtr result = core::host_allocator().allocate(size);
  const c10::Stream before = core::exchange_stream(core::new_stream(0, 0));
  const c10::Stream stream = core::current_stream(0);
  const unsigned char ones = 1, twos = 2;

  core::device_graph captured(/*keep_graph=*/true);
  captured.capture_begin();
  EXPECT_EQ(core::capture_status(stream), OUTBACK_CAPTURE_ACTIVE);
  core::fill_bytes(data.get(), 0, size, &twos, 1);
  captured.capture_end();
  EXPECT_EQ(core::capture_status(stream), OUTBACK_CAPTURE_NONE);
  captured.instantiate();

  const auto first_byte = [&] {
    core::copy_bytes(result.get(), c10::kCPU, data.get(), device(0), size, false);
    return *static_cast<unsigned char*>(result.get());
  };
  for (int launches = 0; launches < 3; ++launches) {
    core::fill_bytes(data.get(), 0, size, &ones, 1);
    EXPECT_EQ(first_byte(), 1);
    captured.replay();
    EXPECT_EQ(first_byte(), 2);
  }
  EXPECT_THROW(captured.capture_begin(), c10::Error);
  core::exchange_stream(before);
}

TEST_F(GroupTest, AnEmptyGraphSaysSo) {
  core::device_graph empty(/*keep_graph=*/true);
  EXPECT_THAT([&] { empty.replay(); },
              ThrowsMessage<c10::Error>(HasSubstr("without a successful capture")));
  EXPECT_THROW(empty.capture_end(), c10::Error);
  EXPECT_THROW(empty.instantiate(), c10::Error);
}

}  // namespace
}  // namespace outback::test
