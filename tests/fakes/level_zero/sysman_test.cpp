// Sysman: run with ZES_ENABLE_SYSMAN=1, and without.
#include <unistd.h>

#include <string>

#include "tests/fakes/level_zero/client.hpp"

namespace outback::software_ze {
namespace {

class SysmanTest : public testing::driver_test {
 protected:
  void SetUp() override {
    driver_test::SetUp();
    device = reinterpret_cast<zes_device_handle_t>(devices.at(0));
  }
  static bool enabled() {
    const char* value = std::getenv("ZES_ENABLE_SYSMAN");
    return value && std::string(value) == "1";
  }
  template <class Handle>
  Handle only(ze_result_t (*enumerate)(zes_device_handle_t, uint32_t*, Handle*)) {
    uint32_t count = 0;
    EXPECT_SUCCESS(enumerate(device, &count, nullptr));
    EXPECT_EQ(count, 1u);
    Handle found = nullptr;
    EXPECT_SUCCESS(enumerate(device, &count, &found));
    return found;
  }
  zes_device_handle_t device = nullptr;
};

TEST_F(SysmanTest, ThereIsNoneUnlessAskedFor) {
  uint32_t count = 0;
  EXPECT_EQ(ZE(zesDeviceEnumMemoryModules)(device, &count, nullptr),
            enabled() ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNINITIALIZED);
}

TEST_F(SysmanTest, FreeMemoryIsWhatIsNotAllocated) {
  if (!enabled()) GTEST_SKIP() << "needs ZES_ENABLE_SYSMAN=1";
  const auto memory = only(ZE(zesDeviceEnumMemoryModules));
  zes_mem_state_t state{};
  state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
  EXPECT_SUCCESS(ZE(zesMemoryGetState)(memory, &state));
  EXPECT_EQ(state.size, 256u << 20);
  EXPECT_EQ(state.free, state.size);
  auto* some = device_memory(100000);
  EXPECT_SUCCESS(ZE(zesMemoryGetState)(memory, &state));
  EXPECT_EQ(state.size - state.free, 131072u) << "in pages of 64 KiB";
  uint32_t count = 1;
  zes_process_state_t process{};
  process.stype = ZES_STRUCTURE_TYPE_PROCESS_STATE;
  EXPECT_SUCCESS(ZE(zesDeviceProcessesGetState)(device, &count, &process));
  EXPECT_EQ(process.processId, static_cast<uint32_t>(getpid()));
  EXPECT_EQ(process.memSize, 131072u);
  free_memory(some);
}

TEST_F(SysmanTest, SensorsRead) {
  if (!enabled()) GTEST_SKIP() << "needs ZES_ENABLE_SYSMAN=1";
  double celsius = 0;
  EXPECT_SUCCESS(ZE(zesTemperatureGetState)(only(ZE(zesDeviceEnumTemperatureSensors)), &celsius));
  EXPECT_EQ(celsius, 42.0);
  zes_freq_state_t frequency{};
  frequency.stype = ZES_STRUCTURE_TYPE_FREQ_STATE;
  EXPECT_SUCCESS(ZE(zesFrequencyGetState)(only(ZE(zesDeviceEnumFrequencyDomains)), &frequency));
  EXPECT_EQ(frequency.actual, 1000.0);
  const auto power = only(ZE(zesDeviceEnumPowerDomains));
  zes_power_energy_counter_t before{}, after{};
  EXPECT_SUCCESS(ZE(zesPowerGetEnergyCounter)(power, &before));
  CONTROL(outback_ze_advance_clock)(100'000'000'000);
  EXPECT_SUCCESS(ZE(zesPowerGetEnergyCounter)(power, &after));
  const auto microseconds = static_cast<double>(after.timestamp - before.timestamp);
  EXPECT_GE(microseconds, 100e6);
  EXPECT_NEAR(static_cast<double>(after.energy - before.energy) / microseconds, 5, 0.5)
      << "watts, idle";
}

TEST_F(SysmanTest, EnginesCountTheTimeThatTheyWork) {
  if (!enabled()) GTEST_SKIP() << "needs ZES_ENABLE_SYSMAN=1";
  const auto engine = only(ZE(zesDeviceEnumEngineGroups));
  zes_engine_stats_t before{}, after{};
  EXPECT_SUCCESS(ZE(zesEngineGetActivity)(engine, &before));
  auto* memory = device_memory(64 << 20);
  const auto list = immediate_list();
  const char one = 1;
  EXPECT_SUCCESS(
      ZE(zeCommandListAppendMemoryFill)(list, memory, &one, 1, 64 << 20, nullptr, 0, nullptr));
  wait_for(list);
  EXPECT_SUCCESS(ZE(zesEngineGetActivity)(engine, &after));
  EXPECT_GT(after.activeTime, before.activeTime);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  free_memory(memory);
}

}  // namespace
}  // namespace outback::software_ze
