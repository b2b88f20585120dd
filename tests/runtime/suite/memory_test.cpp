// Device memory: sizes, alignment, exhaustion.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class MemoryTest : public RuntimeTest {
 protected:
  // That many bytes, of what one allocation can have.
  static std::size_t chunk_of(uint64_t size) {
    return std::size_t(std::clamp<uint64_t>(size, 1, device_info().max_alloc_size));
  }
};

TEST_F(MemoryTest, EverySizeIsAligned) {
  const uint32_t alignment = device_info().alignment;
  std::deque<memory> kept;  // freed ones would give the same place again
  for (const std::size_t size : {1, 2, 3, 63, 64, 65, 511, 4095, 4097, 100003}) {
    kept.emplace_back(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(kept.back().at()) % alignment, 0u) << size << " bytes";
  }
}

TEST_F(MemoryTest, AllocationsDoNotOverlap) {
  std::deque<memory> kept;
  for (int i = 0; i < 64; ++i) kept.emplace_back(std::size_t(1 + 37 * i)).fill(i);
  for (int i = 0; i < 64; ++i)
    EXPECT_TRUE(same(kept[std::size_t(i)].read(), all(kept[std::size_t(i)].size(), i)));
}

TEST_F(MemoryTest, ZeroBytesAreNull) {
  int marker = 0;
  void* ptr = &marker;
  EXPECT_OK(table().mem_alloc(table().self, 0, 0, &ptr));
  EXPECT_EQ(ptr, nullptr);
}

TEST_F(MemoryTest, NullMayBeFreed) {
  EXPECT_OK(table().mem_free(table().self, 0, nullptr));
}

TEST_F(MemoryTest, MoreThanThereIsIsOutOfMemory) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  const memory kept(4096);  // what is in use, and `most` more, must not come to a little
  for (const std::size_t size :
       {std::size_t(device_info().memory_size) + 1, most / 2, most - 63, most}) {
    SCOPED_TRACE(size);
    int marker = 0;
    void* ptr = &marker;
    EXPECT_FAILS(table().mem_alloc(table().self, 0, size, &ptr), OUTBACK_OUT_OF_MEMORY);
    EXPECT_EQ(ptr, &marker);
  }
}

TEST_F(MemoryTest, ExhaustionIsOutOfMemoryAndPasses) {
  const outback_device_info info = device_info();
  const std::size_t chunk = chunk_of(info.memory_size / 8);
  std::vector<void*> chunks;
  outback_status status = OUTBACK_OK;
  // One more than can fit, in case that nothing is ever refused.
  while (chunks.size() <= info.memory_size / chunk + 1) {
    int marker = 0;
    void* ptr = &marker;
    status = table().mem_alloc(table().self, 0, chunk, &ptr);
    if (status != OUTBACK_OK) {
      EXPECT_EQ(ptr, &marker);
      break;
    }
    chunks.push_back(ptr);
  }
  EXPECT_FAILS(status, OUTBACK_OUT_OF_MEMORY);
  ASSERT_FALSE(chunks.empty());

  EXPECT_OK(table().mem_free(table().self, 0, chunks.back()));
  EXPECT_OK(table().mem_alloc(table().self, 0, chunk, &chunks.back()));
  for (void* ptr : chunks) EXPECT_OK(table().mem_free(table().self, 0, ptr));
}

TEST_F(MemoryTest, FreedMemoryIsNotLost) {
  for (int32_t d = 0; d < device_count(); ++d) {
    const outback_device_info info = device_info(d);
    const std::size_t chunk = chunk_of(info.memory_size / 4);
    for (int i = 0; i < 40; ++i) {  // ten times what there is
      void* ptr = nullptr;
      ASSERT_PRED_FORMAT1(succeeds, table().mem_alloc(table().self, d, chunk, &ptr))
          << "device " << d << ", round " << i;
      EXPECT_OK(table().mem_free(table().self, d, ptr));
    }
  }
}

TEST_F(MemoryTest, EveryDeviceHasItsOwn) {
  std::deque<memory> kept;
  for (int32_t d = 0; d < device_count(); ++d) kept.emplace_back(noise(1000, uint64_t(d)), d);
  for (int32_t d = 0; d < device_count(); ++d) {
    EXPECT_TRUE(same(kept[std::size_t(d)].read(), noise(1000, uint64_t(d))));
  }
}

}  // namespace
}  // namespace outback::suite
