// What a device says of itself while it works.
#include <algorithm>
#include <iterator>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class TelemetryTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (!IsSkipped()) OUTBACK_NEEDS_GROUP(telemetry);
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
        range{OUTBACK_METRIC_DEVICE_MEMORY_USED, 0, int64_t(device_info().memory_size)},
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

// Room for one of them only: `count` is of all, and nothing is written beyond.
TEST_F(TelemetryTest, ProcessesAreRealAndNoMoreThanThereIsRoomFor) {
  const memory data(big());
  outback_processes all = {}, one = {};
  all.struct_size = sizeof(all);
  one.struct_size = offsetof(outback_processes, list) + sizeof(outback_process);
  one.list[1].pid = -77;
  const outback_status status = table().telemetry->processes(table().self, 0, &all);
  OUTBACK_NEEDS(status != OUTBACK_UNSUPPORTED, "processes");
  check(status, "telemetry.processes");
  for (uint32_t i = 0; i < std::min<uint32_t>(all.count, std::size(all.list)); ++i) {
    const outback_process& process = all.list[i];
    EXPECT_GT(process.pid, 0);
    if (process.memory != OUTBACK_UNKNOWN_MEMORY) {
      EXPECT_LE(process.memory, device_info().memory_size) << "process " << process.pid;
    }
  }
  EXPECT_OK(table().telemetry->processes(table().self, 0, &one));
  EXPECT_EQ(one.list[1].pid, -77) << "written beyond struct_size";
  EXPECT_EQ(one.struct_size, offsetof(outback_processes, list) + sizeof(outback_process));
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
