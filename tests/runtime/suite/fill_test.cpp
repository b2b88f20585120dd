// Fills: every pattern size, at every place, and nothing beside it.
#include <cstring>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class FillTest : public RuntimeTest {};

constexpr std::size_t pattern_sizes[] = {1, 2, 4, 8};

TEST_F(FillTest, EveryPatternSizeAndLength) {
  const bytes pattern = noise(8, 5);
  for (const std::size_t width : pattern_sizes) {
    for (const std::size_t count : {1, 2, 3, 7, 64, 513, 100001}) {
      SCOPED_TRACE(testing::Message() << count << " times " << width << " bytes");
      const std::size_t size = count * width, margin = 64;
      memory data(all(size + 2 * margin, 0xaa));
      bytes expected = all(size + 2 * margin, 0xaa);
      for (std::size_t i = 0; i < size; ++i) expected[margin + i] = pattern[i % width];
      EXPECT_OK(
          table().mem_fill(table().self, 0, data.at(margin), size, pattern.data(), width, nullptr));
      EXPECT_TRUE(same(data.read(), expected));
    }
  }
}

// A range aligned to the pattern, but to nothing more.
TEST_F(FillTest, RangesInTheMiddle) {
  const bytes pattern = noise(8, 6);
  for (const std::size_t width : pattern_sizes) {
    for (std::size_t offset = width; offset <= 24; offset += width) {
      SCOPED_TRACE(testing::Message() << "offset " << offset << ", pattern of " << width);
      memory data(all(200, 0xaa));
      bytes expected = all(200, 0xaa);
      for (std::size_t i = 0; i < 11 * width; ++i) expected[offset + i] = pattern[i % width];
      EXPECT_OK(table().mem_fill(table().self, 0, data.at(offset), 11 * width, pattern.data(),
                                 width, nullptr));
      EXPECT_TRUE(same(data.read(), expected));
    }
  }
}

TEST_F(FillTest, ABigOne) {
  const uint32_t pattern = 0x01020304;
  memory data(big());
  EXPECT_OK(
      table().mem_fill(table().self, 0, data.at(), big(), &pattern, sizeof(pattern), nullptr));
  bytes expected(big());
  for (std::size_t i = 0; i < big(); i += sizeof(pattern))
    std::memcpy(&expected[i], &pattern, sizeof(pattern));
  EXPECT_TRUE(same(data.read(), expected));
}

TEST_F(FillTest, ZeroBytesChangeNothing) {
  memory data(all(64, 1));
  const uint64_t pattern = 0;
  EXPECT_OK(table().mem_fill(table().self, 0, data.at(), 0, &pattern, 8, nullptr));
  EXPECT_OK(table().mem_fill(table().self, 0, nullptr, 0, &pattern, 8, nullptr));
  EXPECT_TRUE(same(data.read(), all(64, 1)));
}

TEST_F(FillTest, ThePatternIsReadBeforeTheCallReturns) {
  busy_work busy(busy_by::filling);
  for (const std::size_t size : {std::size_t(8), big()}) {
    SCOPED_TRACE(size);
    memory data(size);
    uint64_t pattern = 0x0505050505050505;
    busy.enqueue(nullptr);
    EXPECT_OK(table().mem_fill(table().self, 0, data.at(), size, &pattern, 8, nullptr));
    pattern = 0;
    EXPECT_TRUE(same(data.read(), all(size, 5)));
  }
}

TEST_F(FillTest, OtherPatternSizesAreRefused) {
  memory data(all(240, 1));
  const bytes pattern = all(16, 2);
  for (const std::size_t width : {0, 3, 5, 6, 7, 16}) {
    EXPECT_FAILS(table().mem_fill(table().self, 0, data.at(), 240, pattern.data(), width, nullptr),
                 OUTBACK_INVALID_ARGUMENT)
        << width;
  }
  EXPECT_TRUE(same(data.read(), all(240, 1)));
}

TEST_F(FillTest, APartOfAPatternIsRefused) {
  memory data(all(64, 1));
  const bytes pattern = all(8, 2);
  for (const std::size_t width : {2, 4, 8}) {
    EXPECT_FAILS(
        table().mem_fill(table().self, 0, data.at(), width + 1, pattern.data(), width, nullptr),
        OUTBACK_INVALID_ARGUMENT)
        << width;
  }
  EXPECT_TRUE(same(data.read(), all(64, 1)));
}

}  // namespace
}  // namespace outback::suite
