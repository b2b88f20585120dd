// The device allocator: reuse, statistics, limits, and memory that streams still use.
#include "backend_template/core/memory/device_allocator.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "backend_template/core/memory/allocator/size_policy.h"
#include "backend_template/core/memory/copy.h"
#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/streams/stream.h"
#include "tests/core/test_backend.h"

#include <ATen/core/CachingHostAllocator.h>

namespace outback::test {
namespace {

using core::adopt;
using core::allocate_on;
using core::device_allocator;
using core::mebibyte;
using ::testing::HasSubstr;

int64_t allocated(c10::DeviceIndex device) {
  return device_allocator().getDeviceStats(device).allocated_bytes[0].current;
}
int64_t reserved(c10::DeviceIndex device) {
  return device_allocator().getDeviceStats(device).reserved_bytes[0].current;
}

class DeviceAllocatorTest : public BackendTest {
 protected:
  void SetUp() override {
    device_allocator().emptyCache();
    ASSERT_EQ(allocated(0), 0);
    ASSERT_EQ(reserved(0), 0);
  }
};

TEST_F(DeviceAllocatorTest, FreedMemoryServesTheNextRequestOfItsSize) {
  c10::DataPtr first = allocate_on(0, 5000);
  void* const place = first.get();
  first.clear();
  EXPECT_EQ(allocated(0), 0);
  EXPECT_GT(reserved(0), 0);
  const c10::DataPtr second = allocate_on(0, 4990);
  EXPECT_EQ(second.get(), place);
}

TEST_F(DeviceAllocatorTest, MemoryIsOnTheDeviceThatWasAskedFor) {
  const c10::DataPtr memory = allocate_on(1, 100);
  EXPECT_EQ(memory.device(), device(1));
  EXPECT_EQ(allocated(0), 0);
  EXPECT_GT(allocated(1), 0);
}

TEST_F(DeviceAllocatorTest, ZeroBytesHaveADeviceAndNoMemory) {
  const c10::DataPtr memory = allocate_on(1, 0);
  EXPECT_EQ(memory.get(), nullptr);
  EXPECT_EQ(memory.device(), device(1));
}

TEST_F(DeviceAllocatorTest, ADeviceOutOfRangeIsRefused) {
  EXPECT_THROW(allocate_on(2, 8), c10::AcceleratorError);
  EXPECT_THROW(allocate_on(-1, 8), c10::AcceleratorError);
}

TEST_F(DeviceAllocatorTest, MemoryOfOneStreamIsNotGivenToAnother) {
  const c10::Stream other = core::new_stream(0, 0);
  c10::DataPtr first = allocate_on(0, 5000);
  void* const place = first.get();
  first.clear();
  const c10::Stream before = core::exchange_stream(other);
  const c10::DataPtr second = allocate_on(0, 5000);
  core::exchange_stream(before);
  EXPECT_NE(second.get(), place);
}

TEST_F(DeviceAllocatorTest, RecordedMemoryIsNotReusedWhileTheStreamIsBusy) {
  const c10::Stream side = core::new_stream(0, 0);
  auto& host = core::host_allocator();
  const c10::DataPtr source = host.allocate(16 * mebibyte);
  c10::DataPtr target = allocate_on(0, 16 * mebibyte);
  c10::DataPtr used = allocate_on(0, 16 * mebibyte);
  void* const place = used.get();

  // The side stream is kept busy for longer than the frees and allocations below can take.
  const c10::Stream before = core::exchange_stream(side);
  for (int i = 0; i < 64; ++i)
    core::copy_bytes(target.get(), device(0), source.get(), c10::kCPU, 16 * mebibyte, true);
  core::copy_bytes(used.get(), device(0), source.get(), c10::kCPU, 16 * mebibyte, true);
  core::exchange_stream(before);
  device_allocator().recordStream(used, side);
  used.clear();
  const c10::DataPtr next = allocate_on(0, 16 * mebibyte);
  ASSERT_FALSE(core::query_stream(side))
      << "the copies were too fast for this test to mean anything";
  EXPECT_NE(next.get(), place);

  core::synchronize_stream(side);
  const c10::DataPtr later = allocate_on(0, 16 * mebibyte);
  EXPECT_EQ(later.get(), place) << "the stream is done: the memory serves again";
}

TEST_F(DeviceAllocatorTest, RecordStreamRefusesAnotherDevicesStream) {
  const c10::DataPtr memory = allocate_on(0, 64);
  EXPECT_THROW(device_allocator().recordStream(memory, core::new_stream(1, 0)), c10::Error);
}

TEST_F(DeviceAllocatorTest, AFullDeviceEmptiesItsCacheBeforeItGivesUp) {
  {
    const c10::DataPtr cached = allocate_on(0, 40 * mebibyte);
  }
  ASSERT_GE(reserved(0), static_cast<int64_t>(40 * mebibyte));
  const c10::DataPtr memory = allocate_on(0, 60 * mebibyte);
  EXPECT_NE(memory.get(), nullptr);
  EXPECT_EQ(device_allocator().getDeviceStats(0).num_ooms, 0);
  EXPECT_GE(device_allocator().getDeviceStats(0).num_alloc_retries, 1);
}

TEST_F(DeviceAllocatorTest, AnExactFitIsNotLostToRounding) {
  const c10::DataPtr all = allocate_on(0, device_memory - 4096);
  EXPECT_NE(all.get(), nullptr);
}

TEST_F(DeviceAllocatorTest, OutOfMemorySaysWhatAPersonNeeds) {
  const c10::DataPtr held = allocate_on(0, 48 * mebibyte);
  try {
    allocate_on(0, 32 * mebibyte);
    FAIL() << "48 + 32 MiB fitted into 64";
  } catch (const c10::OutOfMemoryError& e) {
    EXPECT_THAT(e.what(), HasSubstr("acme: out of memory. Tried to allocate 32.00 MiB on acme:0"));
    EXPECT_THAT(e.what(), HasSubstr("64.00 MiB in total"));
    EXPECT_THAT(e.what(), HasSubstr("16.00 MiB are free"));
    EXPECT_THAT(e.what(), HasSubstr("tensors hold 48.00 MiB"));
  }
  EXPECT_EQ(device_allocator().getDeviceStats(0).num_ooms, 1);
  device_allocator().resetAccumulatedStats(0);
  const c10::DataPtr after = allocate_on(0, 8 * mebibyte);
  EXPECT_NE(after.get(), nullptr) << "the device works on";
}

TEST_F(DeviceAllocatorTest, ARequestNoDeviceCanServeIsOutOfMemory) {
  EXPECT_THROW(allocate_on(0, size_t{1} << 60), c10::OutOfMemoryError);
  device_allocator().resetAccumulatedStats(0);
}

c10::DataPtr host_memory(size_t size, bool* freed) {
  struct owner {
    void* data;
    bool* freed;
  };
  auto* it = new owner{std::malloc(size), freed};
  return {it->data, it,
          [](void* context) {
            auto* o = static_cast<owner*>(context);
            *o->freed = true;
            std::free(o->data);
            delete o;
          },
          c10::kCPU};
}

TEST_F(DeviceAllocatorTest, AdoptedMemoryIsCountedAndGoesBackToItsOwner) {
  bool freed = false;
  c10::DataPtr foreign = host_memory(mebibyte, &freed);
  void* const place = foreign.get();
  const size_t free_before = device_allocator().getMemoryInfo(1).first;
  c10::DataPtr adopted = adopt(std::move(foreign), mebibyte, 1);
  EXPECT_EQ(adopted.get(), place);
  EXPECT_EQ(adopted.device(), device(1));
  EXPECT_EQ(allocated(1), static_cast<int64_t>(mebibyte));
  EXPECT_EQ(device_allocator().getMemoryInfo(1).first, free_before - mebibyte);
  EXPECT_FALSE(freed);
  adopted.clear();
  EXPECT_TRUE(freed);
  EXPECT_EQ(allocated(1), 0);
}

TEST_F(DeviceAllocatorTest, AdoptedMemoryCountsAgainstTheDevicesSize) {
  bool freed = false;
  const c10::DataPtr adopted = adopt(host_memory(40 * mebibyte, &freed), 40 * mebibyte, 0);
  EXPECT_THROW(allocate_on(0, 30 * mebibyte), c10::OutOfMemoryError);
  bool other_freed = false;
  EXPECT_THROW(adopt(host_memory(30 * mebibyte, &other_freed), 30 * mebibyte, 0),
               c10::OutOfMemoryError);
  EXPECT_TRUE(other_freed) << "what was refused must not leak";
  device_allocator().resetAccumulatedStats(0);
}

TEST_F(DeviceAllocatorTest, AdoptedMemoryOutlivesTheCopiesThatReadIt) {
  bool freed = false;
  c10::DataPtr source = adopt(host_memory(16 * mebibyte, &freed), 16 * mebibyte, 0);
  const c10::DataPtr target = allocate_on(0, 16 * mebibyte);
  for (int i = 0; i < 64; ++i)
    core::copy_bytes(target.get(), device(0), source.get(), device(0), 16 * mebibyte, true);
  const bool was_busy = !core::query_stream(core::current_stream(0));
  source.clear();
  ASSERT_TRUE(was_busy) << "the copies were too fast for this test to mean anything";
  EXPECT_FALSE(freed);
  core::synchronize_stream(core::current_stream(0));
  {
    const c10::DataPtr any = allocate_on(0, 64);
  }
  EXPECT_TRUE(freed);
}

TEST_F(DeviceAllocatorTest, ThreadsMayFreeWhatOthersAllocated) {
  std::vector<c10::DataPtr> memory;
  for (int round = 0; round < 20; ++round) {
    for (size_t i = 1; i < 200; ++i) {
      memory.push_back(allocate_on(static_cast<c10::DeviceIndex>(i % 2), i * 37));
    }
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&memory, t] {
        for (size_t i = t; i < memory.size(); i += 4) memory[i].clear();
        for (size_t i = 1; i < 50; ++i) allocate_on(0, i * 91);
      });
    }
    for (std::thread& thread : threads) thread.join();
    memory.clear();
  }
  EXPECT_EQ(allocated(0), 0);
  EXPECT_EQ(allocated(1), 0);
}

TEST_F(DeviceAllocatorTest, PeaksAndTotalsCanBeReset) {
  {
    const c10::DataPtr memory = allocate_on(0, mebibyte);
  }
  EXPECT_GE(device_allocator().getDeviceStats(0).allocated_bytes[0].peak,
            static_cast<int64_t>(mebibyte));
  device_allocator().resetPeakStats(0);
  device_allocator().resetAccumulatedStats(0);
  EXPECT_EQ(device_allocator().getDeviceStats(0).allocated_bytes[0].peak, 0);
  EXPECT_EQ(device_allocator().getDeviceStats(0).allocated_bytes[0].allocated, 0);
  EXPECT_GT(device_allocator().getDeviceStats(0).reserved_bytes[0].peak, 0)
      << "the cache still holds it";
}

}  // namespace
}  // namespace outback::test
