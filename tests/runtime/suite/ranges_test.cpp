// Ranges for the tools of the driver. Whether a tool sees them is the runtime's own test.
#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class RangeTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS_GROUP(ranges);
  }
};

TEST_F(RangeTest, AreOfEachThreadAndMayBeNested) {
  const outback_ranges& ranges = *table().ranges;
  in_threads(4, [&](int) {
    for (int i = 0; i < 100; ++i)
      EXPECT_OK(ranges.push(table().self, "a range of the suite's: \xc3\xa4"));
    EXPECT_OK(ranges.mark(table().self, "a mark"));
    for (int i = 0; i < 100; ++i) EXPECT_OK(ranges.pop(table().self));
  });
}

TEST_F(RangeTest, ANameMayBeEmptyOrLong) {
  const std::string name(10'000, 'x');
  for (const char* each : {"", name.c_str()}) {
    EXPECT_OK(table().ranges->push(table().self, each));
    EXPECT_OK(table().ranges->pop(table().self));
  }
}

}  // namespace
}  // namespace outback::suite
