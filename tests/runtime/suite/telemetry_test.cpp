// What a device says of itself while it works.
#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class TelemetryTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS_TELEMETRY();
  }

  // A number, or unsupported and untouched.
  static outback_status read(outback_metric metric, int64_t* value) {
    const outback_status status = table().telemetry->read(table().self, 0, metric, value);
    if (status != OUTBACK_OK) {
      EXPECT_FAILS(status, OUTBACK_UNSUPPORTED) << "metric " << metric;
    }
    return status;
  }
};

TEST_F(TelemetryTest, EveryMetricIsANumberThatCanBeOrUnsupported) {
  struct range {
    outback_metric metric;
    int64_t least, most;
  };
  for (const auto& [metric, least, most] :
       {range{OUTBACK_METRIC_UTILIZATION, 0, 100}, range{OUTBACK_METRIC_MEMORY_UTILIZATION, 0, 100},
        range{OUTBACK_METRIC_MEMORY_USED, 0, int64_t(device_info().memory_size)},
        range{OUTBACK_METRIC_TEMPERATURE, -50'000, 150'000},
        range{OUTBACK_METRIC_POWER, 0, 10'000'000},
        range{OUTBACK_METRIC_CLOCK, 1'000'000, 100'000'000'000}}) {
    SCOPED_TRACE(metric);
    int64_t value = -77'777'777;
    if (read(metric, &value) == OUTBACK_OK) {
      EXPECT_GE(value, least);
      EXPECT_LE(value, most);
    } else {
      EXPECT_EQ(value, -77'777'777);
    }
  }
}

TEST_F(TelemetryTest, MemoryCountsWhenUsed) {
  int64_t before = 0, during = 0;
  OUTBACK_NEEDS(read(OUTBACK_METRIC_MEMORY_USED, &before) == OUTBACK_OK, "MEMORY_USED");
  memory data(big());
  EXPECT_EQ(read(OUTBACK_METRIC_MEMORY_USED, &during), OUTBACK_OK);
  EXPECT_GE(during, before + int64_t(big()));
}

TEST_F(TelemetryTest, AnUnknownMetricIsUnsupported) {
  for (const outback_metric metric : {0, -1, 100'000}) {
    int64_t value = -77;
    EXPECT_EQ(read(metric, &value), OUTBACK_UNSUPPORTED);
    EXPECT_EQ(value, -77);
  }
}

}  // namespace
}  // namespace outback::suite
