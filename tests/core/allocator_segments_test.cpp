// Split and merge, pools, limits and what a snapshot says of them, on the host runtime.
#include <c10/core/AllocatorConfig.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>

#include <thread>
#include <utility>
#include <vector>

#include "backend_template/core/memory/allocator/caches.h"
#include "backend_template/core/memory/allocator/memory_limit.h"
#include "backend_template/core/memory/allocator/out_of_memory.h"
#include "backend_template/core/memory/allocator/routing.h"
#include "backend_template/core/memory/allocator/size_policy.h"
#include "backend_template/core/memory/device_allocator.h"
#include "backend_template/core/streams/stream.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

using core::allocate_on;
using core::device_allocator;
using core::mebibyte;
using ::testing::HasSubstr;
using ::testing::Not;

core::device_stats stats() {
  return device_allocator().getDeviceStats(0);
}
int64_t reserved() {
  return stats().reserved_bytes[0].current;
}

std::string out_of_memory_text(size_t size) {
  try {
    allocate_on(0, size);
  } catch (const c10::OutOfMemoryError& e) {
    return e.what_without_backtrace();
  }
  return "there was room";
}

class SegmentsTest : public BackendTest {
 protected:
  void SetUp() override {
    device_allocator().emptyCache();
    ASSERT_EQ(reserved(), 0);
    device_allocator().resetAccumulatedStats(0);
    device_allocator().resetPeakStats(0);
  }
};

TEST_F(SegmentsTest, SmallRequestsShareASegment) {
  std::vector<c10::DataPtr> all;
  for (int i = 0; i < 100; ++i) all.push_back(allocate_on(0, 10000));
  EXPECT_EQ(reserved(), static_cast<int64_t>(2 * mebibyte));
  EXPECT_EQ(stats().segment[0].current, 1);
  EXPECT_EQ(stats().num_device_alloc, 1);
  EXPECT_EQ(stats().inactive_split[0].current, 1) << "what is left of the segment";
  EXPECT_EQ(stats().inactive_split_bytes[0].current + stats().allocated_bytes[0].current,
            reserved());
  EXPECT_EQ(stats().requested_bytes[0].current, 100 * 10000);
}

TEST_F(SegmentsTest, FreedNeighboursBecomeOneBlock) {
  std::vector<c10::DataPtr> all;
  for (int i = 0; i < 4; ++i) all.push_back(allocate_on(0, mebibyte / 2));
  EXPECT_EQ(reserved(), static_cast<int64_t>(2 * mebibyte));
  void* const first = all[0].get();
  all[0].clear();
  all[2].clear();
  EXPECT_EQ(stats().inactive_split[0].current, 2);
  all[1].clear();
  EXPECT_EQ(stats().inactive_split[0].current, 1) << "three neighbours, one hole";
  EXPECT_EQ(core::cache_of(0).largest_free(), 3 * mebibyte / 2);
  const c10::DataPtr large = allocate_on(0, mebibyte);
  EXPECT_EQ(large.get(), first);
  EXPECT_EQ(reserved(), static_cast<int64_t>(2 * mebibyte));
}

TEST_F(SegmentsTest, AWholeFreeSegmentIsNotASplitOne) {
  {
    const c10::DataPtr it = allocate_on(0, 4096);
  }
  EXPECT_EQ(stats().inactive_split[0].current, 0);
  EXPECT_EQ(stats().inactive_split_bytes[0].current, 0);
  EXPECT_EQ(reserved(), static_cast<int64_t>(2 * mebibyte));
  device_allocator().emptyCache();
  EXPECT_EQ(reserved(), 0);
  EXPECT_EQ(stats().num_device_free, 1);
}

TEST_F(SegmentsTest, EmptyCacheKeepsSegmentsThatAreInUse) {
  const c10::DataPtr held = allocate_on(0, 4096);
  {
    const c10::DataPtr gone = allocate_on(0, 8 * mebibyte);
  }
  device_allocator().emptyCache();
  EXPECT_EQ(reserved(), static_cast<int64_t>(2 * mebibyte));
}

TEST_F(SegmentsTest, LargeBlocksAreSplitAndMergedToo) {
  {
    const c10::DataPtr it = allocate_on(0, 32 * mebibyte);
  }
  {
    const c10::DataPtr a = allocate_on(0, 10 * mebibyte);
    const c10::DataPtr b = allocate_on(0, 10 * mebibyte);
    EXPECT_EQ(static_cast<char*>(b.get()) - static_cast<char*>(a.get()), 10 * mebibyte);
  }
  const c10::DataPtr again = allocate_on(0, 32 * mebibyte);
  EXPECT_EQ(reserved(), static_cast<int64_t>(32 * mebibyte));
  EXPECT_EQ(stats().segment[0].allocated, 1);
}

TEST_F(SegmentsTest, ThePoolsAreCountedApart) {
  const c10::DataPtr small = allocate_on(0, mebibyte);
  const c10::DataPtr large = allocate_on(0, mebibyte + 1);
  EXPECT_EQ(stats().allocation[1].current, 1);
  EXPECT_EQ(stats().allocation[2].current, 1);
  EXPECT_EQ(stats().allocation[0].current, 2);
}

TEST_F(SegmentsTest, MemoryThatAStreamUsesIsActiveButNotAllocated) {
  const c10::Stream side = core::new_stream(0, 0);
  c10::DataPtr used = allocate_on(0, 4096);
  device_allocator().recordStream(used, side);
  used.clear();
  EXPECT_EQ(stats().allocation[0].current, 0);
  EXPECT_EQ(stats().active[0].current, 1);
  EXPECT_EQ(stats().active_bytes[0].current, 4096);
  core::synchronize_stream(side);
  {
    const c10::DataPtr any = allocate_on(0, 64);
  }
  EXPECT_EQ(stats().active[0].current, 0);
}

TEST_F(SegmentsTest, TheFractionIsALimitThatTheErrorNames) {
  core::set_memory_fraction(0, 0.25);
  const c10::DataPtr held = allocate_on(0, 10 * mebibyte);
  EXPECT_THAT(out_of_memory_text(10 * mebibyte),
              HasSubstr("This process may use 16.00 MiB of it, by "
                        "set_per_process_memory_fraction(0.25)."));
  core::set_memory_fraction(0, 1.0);
  EXPECT_THAT(out_of_memory_text(60 * mebibyte), Not(HasSubstr("fraction")));
  const c10::DataPtr fits = allocate_on(0, 10 * mebibyte);
  EXPECT_THROW(core::set_memory_fraction(0, 1.5), c10::ValueError);
}

TEST_F(SegmentsTest, TheErrorNamesTheLargestHole) {
  std::vector<c10::DataPtr> all;
  for (int i = 0; i < 4; ++i) all.push_back(allocate_on(0, mebibyte / 2));
  all[1].clear();
  EXPECT_THAT(out_of_memory_text(100 * mebibyte),
              HasSubstr("still holds 512.00 KiB that nobody uses, in parts of at most 512.00 KiB"));
}

TEST_F(SegmentsTest, ObserversAreToldOfAnError) {
  static std::vector<size_t>& seen = *new std::vector<size_t>;
  core::attach_out_of_memory_observer(
      [](c10::DeviceIndex device, size_t requested, size_t total, size_t free) {
        seen = {static_cast<size_t>(device), requested, total, free};
      });
  EXPECT_THROW(allocate_on(0, 100 * mebibyte), c10::OutOfMemoryError);
  EXPECT_EQ(seen, (std::vector<size_t>{0, 100 * mebibyte, device_memory, device_memory}));
}

TEST_F(SegmentsTest, GarbageIsCollectedFromTheThresholdOn) {
  c10::CachingAllocator::setAllocatorSettings("garbage_collection_threshold:0.5");
  c10::DataPtr old = allocate_on(0, 10 * mebibyte);
  c10::DataPtr young = allocate_on(0, 12 * mebibyte);
  old.clear();
  young.clear();
  const c10::DataPtr other = allocate_on(0, 16 * mebibyte);  // 38 of at most 32
  EXPECT_EQ(reserved(), static_cast<int64_t>(28 * mebibyte)) << "the oldest ten are gone";
  EXPECT_EQ(stats().num_alloc_retries, 0);
  c10::CachingAllocator::setAllocatorSettings("garbage_collection_threshold:0.99999");
  c10::CachingAllocator::setAllocatorSettings("");
}

TEST_F(SegmentsTest, WithoutCachingFreedMemoryGoesBackAtOnce) {
  core::enable_caching(false);
  {
    const c10::DataPtr memory = allocate_on(0, 5000);
    EXPECT_EQ(reserved(), 5056);
    core::enable_caching(true);
  }
  EXPECT_EQ(reserved(), 0);
}

TEST_F(SegmentsTest, APoolKeepsItsMemoryToItself) {
  const c10::MempoolId_t pool = core::new_pool_id();
  core::cache_of(0).begin_pool_use(pool);
  core::begin_allocate_to_pool(0, pool);
  c10::DataPtr inside = allocate_on(0, 5000);
  EXPECT_EQ(core::pool_for(1), (c10::MempoolId_t{0, 0})) << "only on its device";
  std::thread([] { EXPECT_EQ(core::pool_for(0), (c10::MempoolId_t{0, 0})); }).join();
  core::end_allocate_to_pool(0, pool);
  void* const place = inside.get();
  inside.clear();
  const c10::DataPtr outside = allocate_on(0, 5000);
  EXPECT_NE(outside.get(), place);
  EXPECT_EQ(reserved(), static_cast<int64_t>(4 * mebibyte));

  device_allocator().emptyCache();
  EXPECT_EQ(core::cache_of(0).segments(pool).size(), 1U) << "the pool has an owner";
  device_allocator().emptyCache(pool);
  EXPECT_EQ(core::cache_of(0).segments(pool).size(), 0U);
  core::cache_of(0).end_pool_use(pool);
  EXPECT_THROW(core::end_allocate_to_pool(0, pool), c10::Error);
}

TEST_F(SegmentsTest, APoolMayServeEverybodyBeforeMemoryRunsOut) {
  for (const bool lends : {false, true}) {
    const c10::MempoolId_t pool = core::new_pool_id();
    core::cache_of(0).begin_pool_use(pool);
    core::cache_of(0).set_pool_options(pool, lends, /*no_split=*/false);
    core::begin_allocate_to_pool(0, pool);
    {
      const c10::DataPtr inside = allocate_on(0, 48 * mebibyte);
    }
    core::end_allocate_to_pool(0, pool);
    if (lends) {
      const c10::DataPtr outside = allocate_on(0, 32 * mebibyte);
      EXPECT_EQ(reserved(), static_cast<int64_t>(48 * mebibyte));
    } else {
      EXPECT_THROW(allocate_on(0, 32 * mebibyte), c10::OutOfMemoryError);
    }
    core::cache_of(0).end_pool_use(pool);
    device_allocator().emptyCache();
  }
}

TEST_F(SegmentsTest, ASnapshotAgreesWithTheStatistics) {
  const c10::DataPtr a = allocate_on(0, 5000);
  c10::DataPtr b = allocate_on(0, 6000);
  const c10::DataPtr c = allocate_on(0, 3 * mebibyte);
  b.clear();
  const auto segments = core::cache_of(0).segments({0, 0});
  size_t total = 0;
  size_t allocated = 0;
  size_t requested = 0;
  for (const auto& segment : segments) {
    total += segment.total_size;
    allocated += segment.allocated_size;
    requested += segment.requested_size;
    size_t in_blocks = 0;
    for (const auto& it : segment.blocks) in_blocks += it.size;
    EXPECT_EQ(in_blocks, segment.total_size);
  }
  EXPECT_EQ(segments.size(), 2U);
  EXPECT_EQ(static_cast<int64_t>(total), reserved());
  EXPECT_EQ(static_cast<int64_t>(allocated), stats().allocated_bytes[0].current);
  EXPECT_EQ(static_cast<int64_t>(requested), stats().requested_bytes[0].current);
}

}  // namespace
}  // namespace outback::test
