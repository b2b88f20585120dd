// Which sensors are a device's: Sysman lists cards, the core cards or their tiles.
#include <gmock/gmock.h>

#include "tests/runtime/level_zero/own_process.hpp"

namespace outback::test_level_zero {
namespace {

using testing::HasSubstr;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

int64_t reading(int32_t device, outback_metric metric) {
  int64_t value = -1;
  must(table().telemetry->read(table().self, device, metric, &value));
  return value;
}

// The software driver's tiles are a degree and a megahertz apart, and take five watts each.
void expect_tile(int32_t device, int tile) {
  EXPECT_EQ(reading(device, OUTBACK_METRIC_TEMPERATURE), (42 + tile) * 1000) << device;
  EXPECT_EQ(reading(device, OUTBACK_METRIC_CLOCK), (1000 + tile) * 1'000'000) << device;
  EXPECT_NEAR(double(reading(device, OUTBACK_METRIC_POWER)), 5000, 1000) << device;
  EXPECT_LE(reading(device, OUTBACK_METRIC_UTILIZATION), 100) << device;
}

void expect_none(int32_t device) {
  int64_t value = 0;
  EXPECT_EQ(table().telemetry->read(table().self, device, OUTBACK_METRIC_TEMPERATURE, &value),
            OUTBACK_UNSUPPORTED);
  EXPECT_THAT(last_error(), HasSubstr("Sysman does not tell this of device 0"));
}

void expect_tiles_of_two_cards() {
  const outback_runtime& t = table();
  ASSERT_EQ(device_count(), 4);
  for (int32_t d = 0; d < 4; ++d) expect_tile(d, d % 2);
  void* ptr = nullptr;
  std::size_t free = 0, total = 0;
  must(t.mem_alloc(t.self, 1, 8 * mebibyte, &ptr));
  for (int32_t d = 0; d < 4; ++d) {
    const int64_t used = d == 1 ? 8 * mebibyte : 0;
    EXPECT_EQ(reading(d, OUTBACK_METRIC_DEVICE_MEMORY_USED), used) << d;
  }
  must(t.device_state->memory_usage(t.self, 1, &free, &total));
  EXPECT_EQ(total, 32 * mebibyte);
  EXPECT_EQ(free, 24 * mebibyte);
  outback_processes all = {};
  all.struct_size = sizeof(all);
  must(t.telemetry->processes(t.self, 1, &all));
  EXPECT_EQ(all.count, 1u);
}

TEST(TelemetryTest, TilesThatAreDevicesHaveTheirOwnSensors) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_LOADER", newer_loader},
                               {"OUTBACK_ZE_TILES", "2"},
                               {"OUTBACK_ZE_MEMORY", "64M"}}),
                             expect_tiles_of_two_cards());
}

// Its tiles' memory and power in all, and the hottest and the fastest of them.
TEST(TelemetryTest, ACardIsItsTilesTogether) {
  for (const char* loader : {newer_loader, "libze_loader.so.1"}) {
    const char* in_core = loader == std::string("libze_loader.so.1") ? "1" : "0";
    OUTBACK_IN_ITS_OWN_PROCESS(
        ({{"OUTBACK_ZE_LOADER", loader},
          {"ZES_ENABLE_SYSMAN", in_core},
          {"OUTBACK_ZE_TILES", "2"},
          {"OUTBACK_ZE_MEMORY", "64M"},
          {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}),
        {
          ASSERT_EQ(device_count(), 2);
          EXPECT_EQ(reading(1, OUTBACK_METRIC_TEMPERATURE), 43'000);
          EXPECT_EQ(reading(1, OUTBACK_METRIC_CLOCK), 1'001'000'000);
          EXPECT_NEAR(double(reading(1, OUTBACK_METRIC_POWER)), 10'000, 2000);
          EXPECT_LE(reading(1, OUTBACK_METRIC_UTILIZATION), 100);
          void* ptr = nullptr;
          std::size_t free = 0, total = 0;
          must(table().mem_alloc(table().self, 1, 16 * mebibyte, &ptr));
          EXPECT_EQ(reading(1, OUTBACK_METRIC_DEVICE_MEMORY_USED), 16 * mebibyte);
          must(table().device_state->memory_usage(table().self, 1, &free, &total));
          EXPECT_EQ(total, 64 * mebibyte);
          EXPECT_EQ(free, 48 * mebibyte);
        });
  }
}

// A driver of 1.9 tells which part of which card it is, one of 1.7 which card, and no older one.
TEST(TelemetryTest, ATileOfACardThatTheMaskChoseHasItsOwnSensors) {
  for (const char* api : {"1.9", "1.7", "1.6"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_LOADER", newer_loader},
                                 {"OUTBACK_ZE_API", api},
                                 {"OUTBACK_ZE_TILES", "2"},
                                 {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"},
                                 {"ZE_AFFINITY_MASK", "1.1"}}),
                               {
                                 ASSERT_EQ(device_count(), 1);
                                 if (api == std::string("1.6")) return expect_none(0);
                                 expect_tile(0, 1);
                               });
  }
}

// ZES_ENABLE_SYSMAN: Sysman has the core's handles; for a tile the card's, where that can be asked.
TEST(TelemetryTest, ATileInTheCoreHasItsOwnSensors) {
  for (const char* loader : {newer_loader, "libze_loader.so.1"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_LOADER", loader},
                                 {"ZES_ENABLE_SYSMAN", "1"},
                                 {"OUTBACK_ZE_TILES", "2"},
                                 {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"},
                                 {"ZE_AFFINITY_MASK", "1.1"}}),
                               {
                                 ASSERT_EQ(device_count(), 1);
                                 expect_tile(0, 1);
                               });
  }
}

// Flat, on a driver that cannot be asked by UUID, nobody knows which of Sysman's cards it is.
TEST(TelemetryTest, ATileThatSysmanDoesNotKnowHasNone) {
  OUTBACK_IN_ITS_OWN_PROCESS(
      ({{"OUTBACK_ZE_LOADER", newer_loader}, {"OUTBACK_ZE_API", "1.8"}, {"OUTBACK_ZE_TILES", "2"}}),
      expect_none(0));
}

}  // namespace
}  // namespace outback::test_level_zero
