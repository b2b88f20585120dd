// Graphs as torch has them, from C++: what a kernel of a vendor's meets in a capture.
#include "backend_template/core/graphs/device_graph.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backend_template/core/captures/capture_rollback.h"
#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/streams/event.h"
#include "backend_template/core/streams/stream.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Every test runs on a stream that can be captured.
class DeviceGraphTest : public BackendTest {
 protected:
  DeviceGraphTest() : before_(core::exchange_stream(core::new_stream(0, 0))) {}
  ~DeviceGraphTest() override { core::exchange_stream(before_); }

 private:
  c10::Stream before_;
};

TEST_F(DeviceGraphTest, ReplaysWhatTheRuntimeRecorded) {
  constexpr unsigned char two = 2;
  const c10::DataPtr data = core::allocate_on(0, 512);
  core::device_graph graph(/*keep_graph=*/false);
  graph.capture_begin();
  core::fill_bytes(data.get(), 0, 512, &two, 1);
  graph.capture_end();
  graph.replay();
  core::synchronize_device(0);
  EXPECT_EQ(*static_cast<unsigned char*>(data.get()), 2);
}

TEST_F(DeviceGraphTest, RefusesTheGeneratorsPositionThatEachReplayWouldRepeat) {
  at::Generator generator = core::default_generator(0);
  auto* const ours = at::check_generator<core::generator>(generator);
  core::device_graph graph(/*keep_graph=*/false);
  graph.capture_begin();
  {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    EXPECT_THAT([&] { ours->advance(4); },
                ThrowsMessage<c10::Error>(HasSubstr("would draw the same ones in each replay")));
  }
  EXPECT_THAT([&] { graph.capture_end(); },
              ThrowsMessage<c10::Error>(HasSubstr("the capture was broken off")));
  const std::lock_guard<std::mutex> lock(generator.mutex());
  EXPECT_NO_THROW(ours->advance(4));
}

TEST_F(DeviceGraphTest, RefusesAnOperatorThatNobodyRecords) {
  const c10::DataPtr data = core::allocate_on(0, 512);
  core::device_graph graph(/*keep_graph=*/false);
  graph.capture_begin();
  EXPECT_THAT([] { core::drain(0); },
              ThrowsMessage<c10::Error>(HasSubstr("whose work is recorded and not run")));
  EXPECT_THROW(core::adopt(c10::GetCPUAllocator()->allocate(64), 64, 0), c10::Error);
  graph.abandon_capture();
  EXPECT_NO_THROW(core::drain(0));
}

// ---- Captures that spread to other streams

// Makes `stream` current, and its device too, while it lives.
class on_stream {
 public:
  explicit on_stream(const c10::Stream& stream) : before_(core::make_current(stream)) {}
  on_stream(const on_stream&) = delete;
  on_stream& operator=(const on_stream&) = delete;
  ~on_stream() { core::restore(before_); }

 private:
  core::replaced_streams before_;
};

// Lets `later` wait for what `earlier` has been given so far.
void order(const c10::Stream& earlier, const c10::Stream& later) {
  core::event between;
  between.record(earlier);
  between.block(later);
}

int64_t reserved_on(c10::DeviceIndex device) {
  return core::device_allocator().getDeviceStats(device).reserved_bytes[0].current;
}

TEST_F(DeviceGraphTest, EachStreamThatACaptureSpreadsToAllocatesFromItsPoolWhichIsKept) {
  core::device_allocator().emptyCache();
  const c10::Stream first = core::current_stream(0);
  const std::vector<c10::Stream> others{core::new_stream(0, 0), core::new_stream(1, 0),
                                        core::new_stream(1, 0)};
  const std::vector<int64_t> before{reserved_on(0), reserved_on(1)};
  core::device_graph graph(/*keep_graph=*/false);
  graph.capture_begin();
  for (const c10::Stream& other : others) {
    order(first, other);
    const on_stream there(other);
    const c10::DataPtr used = core::allocate_on(other.device_index(), 512);
    EXPECT_TRUE(core::is_of_pool(used, graph.pool())) << other;
    order(other, first);
  }
  for (const c10::Stream& other : others) EXPECT_NE(core::capture_of(other), nullptr);
  graph.capture_end();
  for (const c10::Stream& other : others) EXPECT_EQ(core::capture_of(other), nullptr);
  for (const c10::DeviceIndex device : {0, 1}) {
    EXPECT_FALSE(core::any_capture(device));
    core::device_allocator().emptyCache();
    EXPECT_GT(reserved_on(device), before[device]) << "a replay may use it";
    EXPECT_FALSE(core::is_of_pool(core::allocate_on(device, 512), graph.pool()));
  }
  graph.reset();
  core::device_allocator().emptyCache();
  for (const c10::DeviceIndex device : {0, 1}) EXPECT_EQ(reserved_on(device), before[device]);
}

TEST_F(DeviceGraphTest, AStreamThatWaitsForACaptureThatHasEndedIsInNone) {
  const c10::Stream other = core::new_stream(1, 0);
  core::event recorded;
  core::device_graph graph(/*keep_graph=*/false);
  graph.capture_begin();
  recorded.record(core::current_stream(0));
  const std::shared_ptr<core::capture> ended = recorded.recorded_in();
  graph.capture_end();
  core::join_capture(ended, other);
  EXPECT_EQ(core::capture_of(other), nullptr);
  EXPECT_FALSE(core::any_capture(1));
}

// ---- What waits for a capture

TEST_F(DeviceGraphTest, WhatIsDeferredIsDoneWhenTheLastCaptureOfItsDeviceEnds) {
  const auto capture_on = [](c10::DeviceIndex device) {
    return std::make_shared<core::capture>(core::capture::properties{
        .first = core::new_stream(device, 0), .pool = {0, 1 << 20}, .pool_is_fresh = true});
  };
  int done = 0;
  const auto work = [&] {
    ++done;
    EXPECT_TRUE(core::any_capture(0)) << "others have to wait until this is done";
    EXPECT_FALSE(core::defer_past_captures(0, [] {})) << "nobody would call it";
  };
  std::optional<core::open_capture> first(capture_on(0));
  std::optional<core::open_capture> second(capture_on(0));
  std::optional<core::open_capture> elsewhere(capture_on(1));
  EXPECT_TRUE(core::defer_past_captures(0, work));
  first.reset();
  elsewhere.reset();
  EXPECT_EQ(done, 0);
  EXPECT_TRUE(core::defer_past_captures(0, work));
  EXPECT_FALSE(core::defer_past_captures(1, work)) << "no capture is open there";
  second.reset();
  EXPECT_EQ(done, 2);
  EXPECT_FALSE(core::any_capture(0));
}

TEST_F(DeviceGraphTest, AForkedChildIsInNoCapture) {
  const c10::Stream stream = core::current_stream(0);
  core::device_graph graph(/*keep_graph=*/false);
  graph.capture_begin();
  const pid_t child = fork();
  if (child == 0) {
    const bool none = !core::any_capture(0) && core::capture_of(stream) == nullptr &&
                      core::capture_on(0) == nullptr && !core::defer_past_captures(0, [] {});
    _exit(none ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_NE(core::capture_of(stream), nullptr);
  graph.capture_end();
}

// A storage over memory of somebody else's.
c10::Storage storage_over(std::vector<uint8_t>& memory, size_t size) {
  return c10::Storage(c10::Storage::use_byte_size_t(), size,
                      c10::DataPtr(memory.data(), c10::Device(c10::kCPU)), nullptr, false);
}

TEST(CaptureRollbackTest, ALargerStorageAtTheSameAddressIsKeptToo) {
  std::vector<uint8_t> memory(64, 1);
  core::capture_rollback rollback;
  rollback.keep(storage_over(memory, 16));
  std::fill(memory.begin(), memory.begin() + 16, uint8_t{2});
  rollback.keep(storage_over(memory, 64));
  std::fill(memory.begin(), memory.end(), uint8_t{3});
  rollback.keep(storage_over(memory, 32));  // a part of what is kept
  rollback.roll_back();
  EXPECT_EQ(memory, std::vector<uint8_t>(64, 1));
}

TEST(CaptureRollbackTest, EachOfTwoCapturesKeepsWhatWasThereBeforeBoth) {
  for (const bool first_ends_first : {true, false}) {
    std::vector<uint8_t> memory(64, 1);
    core::capture_rollback first;
    first.keep(storage_over(memory, 32));
    std::fill(memory.begin(), memory.begin() + 32, uint8_t{2});
    core::capture_rollback second;
    second.keep(storage_over(memory, 64));
    std::fill(memory.begin(), memory.end(), uint8_t{3});
    (first_ends_first ? first : second).roll_back();
    (first_ends_first ? second : first).roll_back();
    EXPECT_EQ(memory, std::vector<uint8_t>(64, 1));
  }
}

TEST(CaptureRollbackTest, MemoryThatItsStorageHasLostIsKeptForItsNextOwner) {
  std::vector<uint8_t> memory(64, 1);
  std::vector<uint8_t> others(64, 1);
  core::capture_rollback rollback;
  const c10::Storage first = storage_over(memory, 64);
  rollback.keep(first);
  first.set_data_ptr(c10::DataPtr(others.data(), c10::Device(c10::kCPU)));
  rollback.keep(storage_over(memory, 64));
  std::fill(memory.begin(), memory.end(), uint8_t{2});
  rollback.roll_back();
  EXPECT_EQ(memory, std::vector<uint8_t>(64, 1));
}

}  // namespace
}  // namespace outback::test
