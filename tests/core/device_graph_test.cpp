// Graphs as torch has them, from C++: what a kernel of a vendor's meets in a capture.
#include "backend_template/core/graphs/device_graph.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "backend_template/core/graphs/capture_rollback.h"
#include "backend_template/core/interfaces/generator.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/device_allocator.h"
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
