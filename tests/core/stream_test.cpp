// Streams and events as torch sees them, through the registered guard.
#include "backend_template/core/streams/stream.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/memory/host_allocator.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

constexpr size_t large = size_t{16} << 20;

class StreamTest : public BackendTest {
 protected:
  // Keeps the current stream of device 0 busy for tens of milliseconds.
  void keep_busy() {
    if (busy_source_.get() == nullptr) {
      busy_source_ = core::host_allocator().allocate(large);
      busy_target_ = core::allocate_on(0, large);
    }
    for (int i = 0; i < 32; ++i) {
      core::copy_bytes(busy_target_.get(), device(0), busy_source_.get(), c10::kCPU, large, true);
    }
  }
  void TearDown() override {
    core::synchronize_device(0);
    core::exchange_stream(core::default_stream(0));
  }

 private:
  c10::DataPtr busy_source_;
  c10::DataPtr busy_target_;
};

TEST_F(StreamTest, TheDefaultStreamHasIdZero) {
  EXPECT_EQ(core::default_stream(1).id(), 0);
  EXPECT_EQ(core::current_stream(1), core::default_stream(1));
}

TEST_F(StreamTest, StreamsOfThePoolAreHandedOutInTurn) {
  std::set<c10::StreamId> ids;
  for (int i = 0; i < 100; ++i) ids.insert(core::new_stream(0, 0).id());
  EXPECT_EQ(ids.size(), 32u);
  EXPECT_EQ(ids.count(0), 0u);
}

TEST_F(StreamTest, TheCurrentStreamBelongsToTheThread) {
  const c10::Stream mine = core::new_stream(0, 0);
  core::exchange_stream(mine);
  c10::StreamId seen = -1;
  std::thread([&seen] { seen = core::current_stream(0).id(); }).join();
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(core::current_stream(0), mine);
}

TEST_F(StreamTest, ExchangingAStreamLeavesTheDeviceAlone) {
  const c10::Stream other = core::new_stream(1, 0);
  const c10::Stream before = core::exchange_stream(other);
  EXPECT_EQ(core::current_device(), 0);
  EXPECT_EQ(core::current_stream(1), other);
  core::exchange_stream(before);
}

TEST_F(StreamTest, AnIdThatWasNeverGivenOutIsRefused) {
  for (const c10::StreamId id : {c10::StreamId{250}, c10::StreamId{-1}, c10::StreamId{1} << 40}) {
    const c10::Stream made_up(c10::Stream::UNSAFE, device(1), id);
    EXPECT_THROW(core::exchange_stream(made_up), c10::Error);
    EXPECT_THROW(core::query_stream(made_up), c10::Error);
    EXPECT_THROW(core::synchronize_stream(made_up), c10::Error);
  }
}

TEST_F(StreamTest, DrainWaitsForTheCurrentStream) {
  const c10::DataPtr source = core::host_allocator().allocate(large);
  const c10::DataPtr target = core::allocate_on(0, large);
  std::memset(source.get(), 7, large);
  std::memset(target.get(), 0, large);
  keep_busy();
  core::copy_bytes(target.get(), device(0), source.get(), c10::kCPU, large, true);
  ASSERT_FALSE(core::query_stream(core::current_stream(0)));
  core::drain(0);
  EXPECT_EQ(static_cast<const char*>(target.get())[large - 1], 7);
  EXPECT_TRUE(core::is_idle(core::current_stream(0)));
}

TEST_F(StreamTest, DrainDoesNotWaitForOtherStreams) {
  const c10::Stream side = core::new_stream(0, 0);
  {
    const c10::StreamGuard on_side(side);
    keep_busy();
  }
  core::drain(0);
  EXPECT_FALSE(core::query_stream(side));
}

TEST_F(StreamTest, AStreamWaitsForAnotherThroughAnEvent) {
  const c10::Stream side = core::new_stream(0, 0);
  c10::Event done(c10::DeviceType::PrivateUse1);
  keep_busy();
  done.record(core::current_stream(0));
  EXPECT_FALSE(done.query());
  done.block(side);
  core::exchange_stream(side);
  core::drain(0);
  EXPECT_TRUE(done.query());
}

TEST_F(StreamTest, EventsMeasureTime) {
  c10::Event start(c10::DeviceType::PrivateUse1, c10::EventFlag::BACKEND_DEFAULT);
  c10::Event end(c10::DeviceType::PrivateUse1, c10::EventFlag::BACKEND_DEFAULT);
  start.record(core::current_stream(0));
  keep_busy();
  end.record(core::current_stream(0));
  end.synchronize();
  const double milliseconds = start.elapsedTime(end);
  EXPECT_GT(milliseconds, 0.5) << "32 copies of 16 MiB";
  EXPECT_LT(milliseconds, 60e3);
}

TEST_F(StreamTest, AnEventMovesToTheDeviceOfItsLastRecording) {
  c10::Event event(c10::DeviceType::PrivateUse1);
  event.record(core::current_stream(1));
  keep_busy();
  event.record(core::current_stream(0));
  EXPECT_EQ(event.device_index(), 0);
  EXPECT_FALSE(event.query());
  event.synchronize();
  event.record(core::current_stream(1));
  EXPECT_EQ(event.device_index(), 1);
  event.synchronize();
  EXPECT_TRUE(event.query());
}

TEST_F(StreamTest, SynchronizeDeviceWaitsForAllItsStreams) {
  const c10::Stream side = core::new_stream(0, 0);
  {
    const c10::StreamGuard on_side(side);
    keep_busy();
  }
  core::synchronize_device(0);
  EXPECT_TRUE(core::query_stream(side));
}

TEST_F(StreamTest, CopiesBetweenDevicesAreOrderedByBothStreams) {
  const c10::DataPtr source = core::host_allocator().allocate(large);
  const c10::DataPtr first = core::allocate_on(0, large);
  const c10::DataPtr second = core::allocate_on(1, large);
  std::vector<char> result(large);
  std::memset(source.get(), 9, large);
  keep_busy();
  core::copy_bytes(first.get(), device(0), source.get(), c10::kCPU, large, true);
  core::copy_bytes(second.get(), device(1), first.get(), device(0), large, true);
  core::copy_bytes(result.data(), c10::kCPU, second.get(), device(1), large,
                   true);  // pageable: waits
  EXPECT_EQ(result.front(), 9);
  EXPECT_EQ(result.back(), 9);
}

TEST_F(StreamTest, OverlappingCopiesAreRefused) {
  const c10::DataPtr memory = core::allocate_on(0, 4096);
  EXPECT_THROW(core::copy_bytes(static_cast<char*>(memory.get()) + 100, device(0), memory.get(),
                                device(0), 200, true),
               c10::Error);
}

}  // namespace
}  // namespace outback::test
