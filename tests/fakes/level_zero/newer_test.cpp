// What came after 1.4: the slots beyond those of Debian's loader, asked of the driver itself, and
// counter-based events. Run with drivers of several versions.
#include <level_zero/ze_ddi.h>

#include "tests/fakes/level_zero/client.hpp"
#include "tests/fakes/level_zero/newer_api.hpp"

namespace outback::software_ze {
namespace {

uint32_t driver_minor() {
  const char* value = std::getenv("OUTBACK_ZE_API");
  return value ? static_cast<uint32_t>(std::atoi(value + 2)) : 10;
}

/// A table with room for what later versions have.
struct table {
  void* slots[64] = {};

  table(const char* function, uint32_t version) {
    using get = ze_result_t (*)(ze_api_version_t, void*);
    EXPECT_SUCCESS(reinterpret_cast<get>(testing::require_symbol(
        testing::driver_library(), function))(static_cast<ze_api_version_t>(version), slots));
  }
  template <class Function>
  Function at(std::size_t index) const {
    return reinterpret_cast<Function>(slots[index]);
  }
};

class NewerTest : public testing::driver_test {};

TEST_F(NewerTest, TheDriverSaysItsVersion) {
  ze_api_version_t version{};
  EXPECT_SUCCESS(ZE(zeDriverGetApiVersion)(driver, &version));
  EXPECT_EQ(static_cast<uint32_t>(version), api_version(1, driver_minor()));
}

TEST_F(NewerTest, SlotsAreThereIfBothSidesKnowThem) {
  const struct {
    const char* function;
    std::size_t slot;
    uint32_t since;
  } newer[] = {{"zeGetGlobalProcAddrTable", slot_global_init_drivers, 10},
               {"zeGetCommandListProcAddrTable", slot_list_host_synchronize, 6},
               {"zeGetMemProcAddrTable", slot_mem_put_ipc_handle, 6},
               {"zeGetEventPoolProcAddrTable", slot_event_pool_put_ipc_handle, 6},
               {"zeGetDeviceProcAddrTable", slot_device_get_root_device, 7},
               {"zesGetGlobalProcAddrTable", 0, 5},
               {"zesGetDriverProcAddrTable", slot_sysman_driver_get, 5},
               {"zesGetDeviceProcAddrTable", slot_sysman_device_get, 5},
               {"zesGetDriverExpProcAddrTable", 0, 9}};
  for (const auto& one : newer) {
    const bool known = driver_minor() >= one.since;
    EXPECT_EQ(table(one.function, api_version(1, 17)).slots[one.slot] != nullptr, known)
        << one.function;
    EXPECT_EQ(table(one.function, api_version(1, one.since)).slots[one.slot] != nullptr, known)
        << one.function;
    EXPECT_EQ(table(one.function, api_version(1, one.since - 1)).slots[one.slot], nullptr)
        << one.function << ": an older loader has no room for it";
  }
}

TEST_F(NewerTest, InitDriversGivesTheDriver) {
  using init_drivers = ze_result_t (*)(uint32_t*, ze_driver_handle_t*, init_driver_type_desc*);
  const table global("zeGetGlobalProcAddrTable", api_version(1, 10));
  const auto function = global.at<init_drivers>(slot_global_init_drivers);
  if (!function) GTEST_SKIP() << "needs a driver of 1.10";
  init_driver_type_desc desc{static_cast<ze_structure_type_t>(stype_init_driver_type_desc), nullptr,
                             init_driver_type_gpu};
  uint32_t count = 0;
  EXPECT_SUCCESS(function(&count, nullptr, &desc));
  EXPECT_EQ(count, 1u);
  ze_driver_handle_t found = nullptr;
  EXPECT_SUCCESS(function(&count, &found, &desc));
  EXPECT_EQ(found, driver);
}

TEST_F(NewerTest, AnImmediateListCanBeWaitedFor) {
  using synchronize = ze_result_t (*)(ze_command_list_handle_t, uint64_t);
  const auto function = table("zeGetCommandListProcAddrTable", api_version(1, 6))
                            .at<synchronize>(slot_list_host_synchronize);
  if (!function) GTEST_SKIP() << "needs a driver of 1.6";
  const auto list = immediate_list();
  EXPECT_SUCCESS(function(list, 0)) << "there is nothing to wait for";
  CONTROL(outback_ze_pause)();
  EXPECT_SUCCESS(ZE(zeCommandListAppendBarrier)(list, nullptr, 0, nullptr));
  EXPECT_EQ(function(list, 0), ZE_RESULT_NOT_READY);
  EXPECT_EQ(function(list, 1000000), ZE_RESULT_NOT_READY);
  CONTROL(outback_ze_resume)();
  EXPECT_SUCCESS(function(list, testing::forever));
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
}

class CounterBasedTest : public NewerTest {
 protected:
  void SetUp() override {
    NewerTest::SetUp();
    pool = event_pool(1, ZE_EVENT_POOL_FLAG_HOST_VISIBLE, &desc);
    counted = event(pool);
    list = immediate_list(queue_in_order);
  }
  void TearDown() override {
    CONTROL(outback_ze_resume)();
    wait_for(list);
    EXPECT_SUCCESS(ZE(zeEventDestroy)(counted));
    EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
    EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
    NewerTest::TearDown();
  }

  const counter_based_event_pool_desc desc{
      static_cast<ze_structure_type_t>(stype_counter_based_event_pool), nullptr, 0};
  ze_event_pool_handle_t pool = nullptr;
  ze_event_handle_t counted = nullptr;
  ze_command_list_handle_t list = nullptr;
};

TEST_F(CounterBasedTest, EachSignalStandsForItself) {
  if (driver_minor() < 8) {
    EXPECT_EQ(ZE(zeEventQueryStatus)(counted), ZE_RESULT_NOT_READY) << "an event like any other";
    EXPECT_SUCCESS(ZE(zeEventHostSignal)(counted));
    return;
  }
  EXPECT_SUCCESS(ZE(zeEventQueryStatus)(counted)) << "nothing has to be waited for yet";
  for (int round = 0; round < 3; ++round) {
    CONTROL(outback_ze_pause)();
    EXPECT_SUCCESS(ZE(zeCommandListAppendSignalEvent)(list, counted));
    EXPECT_EQ(ZE(zeEventQueryStatus)(counted), ZE_RESULT_NOT_READY) << "with no reset";
    CONTROL(outback_ze_resume)();
    EXPECT_SUCCESS(ZE(zeEventHostSynchronize)(counted, testing::forever));
  }
}

TEST_F(CounterBasedTest, AWaitIsForTheSignalThatWasLast) {
  if (driver_minor() < 8) GTEST_SKIP() << "needs a driver of 1.8";
  const auto waiting = immediate_list(queue_in_order);
  const auto flags = event_pool(1);
  auto go = event(flags);
  EXPECT_SUCCESS(ZE(zeCommandListAppendSignalEvent)(list, counted));
  EXPECT_SUCCESS(ZE(zeCommandListAppendWaitOnEvents)(waiting, 1, &counted));
  // Signalled again, but not before `go`: who waited earlier does not wait for that.
  EXPECT_SUCCESS(ZE(zeCommandListAppendWaitOnEvents)(list, 1, &go));
  EXPECT_SUCCESS(ZE(zeCommandListAppendSignalEvent)(list, counted));
  wait_for(waiting);
  EXPECT_EQ(ZE(zeEventQueryStatus)(counted), ZE_RESULT_NOT_READY);
  EXPECT_SUCCESS(ZE(zeEventHostSignal)(go));
  wait_for(list);
  EXPECT_SUCCESS(ZE(zeEventDestroy)(go));
  EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(flags));
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(waiting));
}

TEST_F(CounterBasedTest, ResetsSignalsAndListsWithoutOrderAreViolations) {
  if (driver_minor() < 8) GTEST_SKIP() << "needs a driver of 1.8";
  EXPECT_EQ(ZE(zeEventHostReset)(counted), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("a counter-based event is reset");
  EXPECT_EQ(ZE(zeEventHostSignal)(counted), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("a counter-based event is signalled by the host");
  EXPECT_EQ(ZE(zeCommandListAppendEventReset)(list, counted), ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("a counter-based event is reset");
  const auto unordered = immediate_list();
  EXPECT_EQ(ZE(zeCommandListAppendSignalEvent)(unordered, counted),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  expect_violation("by a list that is not in order");
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(unordered));
}

}  // namespace
}  // namespace outback::software_ze
