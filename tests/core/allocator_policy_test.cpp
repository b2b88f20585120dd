// The allocator's parts that need no device: sizes, free blocks, and the history.
#include <c10/core/AllocatorConfig.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "backend_template/core/memory/allocator/free_blocks.h"
#include "backend_template/core/memory/allocator/history.h"
#include "backend_template/core/memory/allocator/size_policy.h"

namespace outback::test {
namespace {

using core::bin_of;
using core::block;
using core::free_blocks;
using core::mebibyte;

TEST(SizePolicyTest, ABinHoldsSizesThatDifferByLessThanAnEighth) {
  int last = -1;
  for (size_t size = 64; size < 64 * mebibyte; size += 64 * (1 + size / 9700)) {
    const int bin = bin_of(size);
    ASSERT_GE(bin, last) << "at " << size;
    ASSERT_LT(bin, core::bin_count);
    if (size >= 1024) {
      ASSERT_GT(bin_of(size + size / 8), bin);
    }
    last = bin;
  }
}

TEST(SizePolicyTest, ARequestIsRoundedToTheDevicesAlignment) {
  EXPECT_EQ(core::rounded_size(1, 64), 64U);
  EXPECT_EQ(core::rounded_size(65, 64), 128U);
  EXPECT_EQ(core::rounded_size(65, 256), 256U);
  EXPECT_EQ(core::rounded_size(5 * mebibyte, 64), 5 * mebibyte);
}

TEST(SizePolicyTest, RequestsShareSegmentsUnlessTheyAreLarge) {
  EXPECT_EQ(core::segment_size(100), 2 * mebibyte);
  EXPECT_EQ(core::segment_size(mebibyte), 2 * mebibyte);
  EXPECT_EQ(core::segment_size(mebibyte + 64), 16 * mebibyte);
  EXPECT_EQ(core::segment_size(4 * mebibyte - 64), 16 * mebibyte);
  EXPECT_EQ(core::segment_size(4 * mebibyte), 4 * mebibyte);
  EXPECT_EQ(core::segment_size(100, mebibyte), mebibyte) << "no more than the driver allocates";
  EXPECT_EQ(core::segment_size(2 * mebibyte, 3 * mebibyte), 3 * mebibyte);
}

class AllocatorKeysTest : public ::testing::Test {
 protected:
  void TearDown() override {
    c10::CachingAllocator::setAllocatorSettings(
        "roundup_power2_divisions:1,max_split_size_mb:17592186044415");
    c10::CachingAllocator::setAllocatorSettings("");
  }
};

TEST_F(AllocatorKeysTest, RoundUpPower2DivisionsApplies) {
  c10::CachingAllocator::setAllocatorSettings("roundup_power2_divisions:4");
  EXPECT_EQ(core::rounded_size(1200 * 1024, 64), 1280U * 1024);
  EXPECT_EQ(core::rounded_size(2 * mebibyte, 64), 2 * mebibyte);
  EXPECT_EQ(core::rounded_size(100, 64), 128U) << "too small to be divided";
}

TEST_F(AllocatorKeysTest, LargeSegmentSizeApplies) {
  c10::CachingAllocator::setAllocatorSettings("large_segment_size_mb:40");
  EXPECT_EQ(core::segment_size(9 * mebibyte), 40 * mebibyte);
  c10::CachingAllocator::setAllocatorSettings("large_segment_size_mb:20");
}

TEST_F(AllocatorKeysTest, MaxSplitSizeKeepsLargeBlocksWhole) {
  EXPECT_TRUE(core::may_serve(100 * mebibyte, mebibyte));
  EXPECT_TRUE(core::should_split(100 * mebibyte, mebibyte, 64));
  c10::CachingAllocator::setAllocatorSettings("max_split_size_mb:32");
  EXPECT_FALSE(core::may_serve(100 * mebibyte, mebibyte));
  EXPECT_TRUE(core::may_serve(100 * mebibyte, 90 * mebibyte));
  EXPECT_FALSE(core::may_serve(100 * mebibyte, 40 * mebibyte));
  EXPECT_TRUE(core::may_serve(20 * mebibyte, mebibyte));
  EXPECT_FALSE(core::should_split(100 * mebibyte, 90 * mebibyte, 64));
}

std::unique_ptr<block> block_of(size_t size) {
  auto made = std::make_unique<block>();
  made->size = size;
  return made;
}

TEST(FreeBlocksTest, TheSmallestThatFitsIsFound) {
  free_blocks free;
  EXPECT_EQ(free.best_fit(64), nullptr);
  EXPECT_EQ(free.largest(), 0U);
  const auto small = block_of(128);
  const auto middle = block_of(4096);
  const auto large = block_of(mebibyte);
  for (const auto* it : {&small, &middle, &large}) free.insert(it->get());
  EXPECT_EQ(free.best_fit(64), small.get());
  EXPECT_EQ(free.best_fit(128), small.get());
  EXPECT_EQ(free.best_fit(192), middle.get());
  EXPECT_EQ(free.best_fit(4160), large.get());
  EXPECT_EQ(free.best_fit(mebibyte + 64), nullptr);
  EXPECT_EQ(free.largest(), mebibyte);
  free.remove(middle.get());
  EXPECT_EQ(free.best_fit(192), large.get());
}

TEST(FreeBlocksTest, ABlockThatFitsIsFoundBehindAnyNumberThatAreTooSmall) {
  free_blocks free;
  std::vector<std::unique_ptr<block>> inside;
  inside.push_back(block_of(mebibyte + 64 * 1000));
  for (int i = 0; i < 64; ++i) inside.push_back(block_of(mebibyte));
  for (const auto& it : inside) free.insert(it.get());
  EXPECT_EQ(free.best_fit(mebibyte + 64), inside[0].get());
  const auto larger = block_of(2 * mebibyte);
  free.insert(larger.get());
  EXPECT_EQ(free.best_fit(mebibyte + 64), larger.get()) << "a short search finds one that fits";
  EXPECT_EQ(free.smallest_fit(mebibyte + 64), inside[0].get());
  EXPECT_EQ(free.smallest_fit(2 * mebibyte), larger.get());
  EXPECT_EQ(free.smallest_fit(2 * mebibyte + 64), nullptr);
}

TEST(FreeBlocksTest, RandomInsertionsAndRemovalsAgreeWithAList) {
  std::mt19937 random(7);
  free_blocks free;
  std::vector<std::unique_ptr<block>> inside;
  for (int step = 0; step < 20000; ++step) {
    const size_t size = 64 * (1 + random() % 3000);
    if (inside.size() < 50 && random() % 2 == 0) {
      inside.push_back(block_of(size));
      free.insert(inside.back().get());
    } else if (!inside.empty()) {
      const size_t chosen = random() % inside.size();
      free.remove(inside[chosen].get());
      std::swap(inside[chosen], inside.back());
      inside.pop_back();
    }
    const block* best = nullptr;
    for (const auto& it : inside) {
      if (it->size >= size && (best == nullptr || it->size < best->size)) best = it.get();
    }
    const block* const found = free.best_fit(size);
    ASSERT_EQ(found == nullptr, best == nullptr);
    if (best != nullptr) {
      ASSERT_EQ(found->size, best->size);
      ASSERT_EQ(free.smallest_fit(size)->size, best->size);
    }
  }
}

TEST(HistoryTest, TheOldestEntriesGoFirst) {
  core::history history;
  core::history_settings settings{.enabled = true, .most_entries = 3};
  history.configure(settings);
  for (size_t i = 1; i <= 5; ++i) {
    history.add(core::trace_entry::ALLOC, 0, i, 64, 0, {0, 0}, nullptr);
  }
  const auto addresses = [&history] {
    std::vector<size_t> all;
    for (const auto& it : history.entries()) all.push_back(it.addr_);
    return all;
  };
  EXPECT_EQ(addresses(), (std::vector<size_t>{3, 4, 5}));
  settings.most_entries = 4;  // a larger ring goes on
  history.configure(settings);
  history.add(core::trace_entry::ALLOC, 0, 6, 64, 0, {0, 0}, nullptr);
  EXPECT_EQ(addresses(), (std::vector<size_t>{3, 4, 5, 6}));
  settings.most_entries = 2;
  history.configure(settings);
  EXPECT_EQ(addresses(), (std::vector<size_t>{5, 6}));
  settings.skipped = 1U << core::trace_entry::ALLOC;
  settings.clear = true;
  history.configure(settings);
  history.add(core::trace_entry::ALLOC, 0, 7, 64, 0, {0, 0}, nullptr);
  history.add(core::trace_entry::OOM, 0, 8, 64, 0, {0, 0}, nullptr);
  EXPECT_EQ(addresses(), (std::vector<size_t>{8}));
  history.configure({});
  EXPECT_EQ(addresses(), std::vector<size_t>()) << "recording has stopped";
}

}  // namespace
}  // namespace outback::test
