// Fills: which calls they are, and that every byte is right, whatever the pattern, its place and
// the size.
#include <gmock/gmock.h>

#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "tests/runtime/cuda/fake.hpp"

namespace outback::cuda {
namespace {

constexpr std::size_t room = std::size_t{1} << 16;
constexpr unsigned char untouched = 0xee;

// Calls that fill or copy, since `then`.
struct work_calls {
  uint64_t fills = 0, copies = 0;

  static work_calls now() {
    work_calls counted;
    for (const char* fill : {"cudaMemsetAsync", "cuMemsetD16Async", "cuMemsetD32Async"}) {
      counted.fills += fake().calls(fill);
    }
    counted.copies = fake().calls("cudaMemcpyAsync");
    return counted;
  }
  work_calls since(const work_calls& then) const {
    return {fills - then.fills, copies - then.copies};
  }
};

class CudaFillTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(t_.mem_alloc(t_.self, 0, room, &memory_), OUTBACK_OK); }
  void TearDown() override { EXPECT_EQ(t_.mem_free(t_.self, 0, memory_), OUTBACK_OK); }

  // Fills [at, at + size) of memory that was marked, and looks at every byte of it.
  work_calls expect_filled(std::size_t at, std::size_t size, const void* pattern,
                           std::size_t pattern_size) {
    SCOPED_TRACE(testing::Message() << size << " bytes at " << at << " by " << pattern_size);
    EXPECT_EQ(t_.mem_fill(t_.self, 0, memory_, room, &untouched, 1, nullptr), OUTBACK_OK);
    auto* const to = static_cast<std::byte*>(memory_) + at;
    const work_calls before = work_calls::now();
    EXPECT_EQ(t_.mem_fill(t_.self, 0, to, size, pattern, pattern_size, nullptr), OUTBACK_OK)
        << t_.last_error(t_.self);
    const work_calls made = work_calls::now().since(before);
    EXPECT_EQ(t_.streams->sync(t_.self, 0, nullptr), OUTBACK_OK);
    std::vector<unsigned char> expected(room, untouched), found(room);
    for (std::size_t i = 0; i < size; ++i) {
      expected[at + i] = static_cast<const unsigned char*>(pattern)[i % pattern_size];
    }
    EXPECT_EQ(t_.mem_copy(t_.self, found.data(), OUTBACK_HOST, memory_, 0, room, nullptr),
              OUTBACK_OK);
    EXPECT_TRUE(found == expected);
    return made;
  }

  const fake_functions& fake_ = fake();
  cuda_runtime runtime_;
  const outback_runtime& t_ = *table_of(runtime_);
  void* memory_ = nullptr;
};

TEST_F(CudaFillTest, WordsThatAreAlignedAreOneFill) {
  const struct {
    const char* pattern;
    std::size_t size;
  } patterns[] = {{"a", 1}, {"ab", 2}, {"abcd", 4}, {"abcdabcd", 8}, {"abababab", 8}, {"aaaa", 4}};
  for (const auto& each : patterns) {
    const work_calls made = expect_filled(8, 48, each.pattern, each.size);
    EXPECT_EQ(made.fills, 1u) << each.pattern;
    EXPECT_EQ(made.copies, 0u) << each.pattern;
  }
}

// log2 of the pieces, and a last copy of what is left: rows of one word each take a device a
// thousand times as long.
TEST_F(CudaFillTest, EightBytesAreTwoFillsAndCopiesThatDouble) {
  for (const std::size_t pieces : {1, 2, 3, 4, 5, 1000, 1024, 1025, 8000}) {
    const work_calls made = expect_filled(16, pieces * 8, "12345678", 8);
    EXPECT_EQ(made.fills, 2u) << pieces;
    EXPECT_EQ(made.copies, uint64_t(std::bit_width(pieces - 1))) << pieces;
  }
}

TEST_F(CudaFillTest, PlacesThatAreNotAlignedAreCopiesThatDouble) {
  const struct {
    std::size_t at, period;
    uint64_t fills;  // of the largest words that are aligned there
  } cases[] = {{1, 2, 2}, {3, 2, 2}, {1, 4, 4}, {2, 4, 2},
               {3, 4, 4}, {1, 8, 8}, {2, 8, 4}, {4, 8, 2}};
  for (const auto& each : cases) {
    for (const std::size_t pieces : {1, 2, 7, 512, 777}) {
      const work_calls made = expect_filled(each.at, pieces * each.period, "12345678", each.period);
      EXPECT_EQ(made.fills, each.fills) << each.at << " by " << each.period;
      EXPECT_EQ(made.copies, uint64_t(std::bit_width(pieces - 1))) << pieces;
    }
  }
}

TEST_F(CudaFillTest, AnOddPlaceDoesNotMatterToBytesThatAreAllAlike) {
  const work_calls made = expect_filled(3, 8 * 100, "zzzzzzzz", 8);
  EXPECT_EQ(made.fills, 1u);
  EXPECT_EQ(made.copies, 0u);
}

// They are work of the stream like any other, so a capture takes them, and a launch fills anew.
TEST_F(CudaFillTest, ACaptureTakesThem) {
  outback_stream stream = nullptr;
  outback_graph graph = nullptr;
  ASSERT_EQ(t_.streams->create(t_.self, 0, 0, &stream), OUTBACK_OK);
  ASSERT_EQ(t_.mem_fill(t_.self, 0, memory_, room, &untouched, 1, stream), OUTBACK_OK);
  ASSERT_EQ(t_.graphs->begin(t_.self, 0, stream), OUTBACK_OK);
  EXPECT_EQ(t_.mem_fill(t_.self, 0, memory_, 56, "12345678", 8, stream), OUTBACK_OK)
      << t_.last_error(t_.self);
  ASSERT_EQ(t_.graphs->end(t_.self, 0, stream, &graph), OUTBACK_OK) << t_.last_error(t_.self);
  ASSERT_EQ(t_.graphs->instantiate(t_.self, 0, graph), OUTBACK_OK);
  EXPECT_EQ(t_.graphs->launch(t_.self, 0, graph, stream), OUTBACK_OK);
  char found[64] = {};
  EXPECT_EQ(t_.mem_copy(t_.self, found, OUTBACK_HOST, memory_, 0, 64, stream), OUTBACK_OK);
  EXPECT_EQ(std::memcmp(found, "12345678123456781234567812345678123456781234567812345678", 56), 0);
  EXPECT_EQ(static_cast<unsigned char>(found[56]), untouched);
  EXPECT_EQ(t_.graphs->destroy(t_.self, 0, graph), OUTBACK_OK);
  EXPECT_EQ(t_.streams->destroy(t_.self, 0, stream), OUTBACK_OK);
}

}  // namespace
}  // namespace outback::cuda
