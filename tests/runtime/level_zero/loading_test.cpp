// No loader, no driver, no device, or one that fails: there are no devices, every slot says why,
// and nothing of the loader's is called again.
#include <gmock/gmock.h>

#include <cstring>
#include <fstream>

#include "tests/runtime/level_zero/own_process.hpp"

namespace outback::test_level_zero {
namespace {

using testing::HasSubstr;

// Each slot that takes a device, and the pinned memory that needs one.
void expect_every_slot_to_say(const std::string& why) {
  const outback_runtime& t = table();
  void* const self = t.self;
  void* ptr = nullptr;
  outback_stream stream = nullptr;
  int value = 7;
  EXPECT_EQ(device_count(), 0);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(t.mem_alloc(self, 0, 64, &ptr), OUTBACK_INVALID_ARGUMENT);
    EXPECT_THAT(last_error(), HasSubstr(why));
    EXPECT_EQ(t.device_sync(self, 0), OUTBACK_INVALID_ARGUMENT);
    EXPECT_THAT(last_error(), HasSubstr(why));
    EXPECT_EQ(t.mem_fill(self, 0, &value, 4, &value, 4, nullptr), OUTBACK_INVALID_ARGUMENT);
    EXPECT_THAT(last_error(), HasSubstr(why));
    EXPECT_EQ(t.streams->create(self, 0, 0, &stream), OUTBACK_INVALID_ARGUMENT);
    EXPECT_THAT(last_error(), HasSubstr(why));
    EXPECT_EQ(t.host_memory->alloc(self, 64, &ptr), OUTBACK_UNSUPPORTED);
    EXPECT_THAT(last_error(), HasSubstr(why));
    EXPECT_EQ(t.device_state->select(self, 0), OUTBACK_INVALID_ARGUMENT);
    EXPECT_THAT(last_error(), HasSubstr(why));
  }
  outback_pointer_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(t.host_memory->info(self, &value, &info), OUTBACK_OK);
  EXPECT_EQ(info.device, OUTBACK_HOST);
  EXPECT_EQ(info.pinned, 0);
}

uint64_t calls_of_all() {
  uint64_t sum = 0;
  const auto name = &OUTBACK_ZE_CONTROL(outback_ze_entry_point);
  for (std::size_t i = 0; name(i) != nullptr; ++i) sum += calls(name(i));
  return sum;
}

void expect_nothing_called_after_failing(const std::string& why) {
  EXPECT_EQ(device_count(), 0);
  const uint64_t before = calls_of_all();
  expect_every_slot_to_say(why);
  EXPECT_EQ(calls_of_all(), before);
}

TEST(LoadingTest, NothingIsOpenedBeforeTheFirstSlot) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    EXPECT_EQ(last_error(), "");
    EXPECT_EQ(dlopen(software_driver, RTLD_NOW | RTLD_NOLOAD), nullptr);
    EXPECT_EQ(device_count(), 2);
    EXPECT_NE(dlopen(software_driver, RTLD_NOW | RTLD_NOLOAD), nullptr);
  });
}

TEST(LoadingTest, CountingAndAskingMakesNoContext) {
  OUTBACK_IN_ITS_OWN_PROCESS(({}), {
    EXPECT_EQ(device_count(), 2);
    info_of(1);
    int32_t active = -1;
    EXPECT_EQ(table().device_state->is_active(table().self, 0, &active), OUTBACK_OK);
    EXPECT_EQ(active, 0);
    EXPECT_EQ(live("context"), 0u);
  });
}

TEST(LoadingTest, NoLoader) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_LOADER", "/nowhere/libze_loader.so.1"}}),
                             expect_every_slot_to_say("there is no Level Zero loader: /nowhere/"));
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_LOADER", "/nowhere/libze_loader.so.1"}}),
                             expect_every_slot_to_say("OUTBACK_ZE_LOADER=<path>"));
}

TEST(LoadingTest, ALibraryThatIsNoLoader) {
  OUTBACK_IN_ITS_OWN_PROCESS(
      ({{"OUTBACK_ZE_LOADER", "libm.so.6"}}),
      expect_every_slot_to_say("libm.so.6 is no Level Zero loader: it has no "
                               "zeInit, zeDriverGet"));
}

TEST(LoadingTest, NoDriver) {
  OUTBACK_IN_ITS_OWN_PROCESS(
      ({{"ZE_ENABLE_ALT_DRIVERS", "/nowhere/libze_intel_gpu.so.1"}}),
      expect_every_slot_to_say("Level Zero cannot be used: zeInit: "
                               "ZE_RESULT_ERROR_UNINITIALIZED (0x78000001)"));
}

TEST(LoadingTest, NoDevices) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_DEVICES", "0"}}),
                             expect_every_slot_to_say("Level Zero"));
}

TEST(LoadingTest, AnInitialisationThatFailsIsTheLastCall) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_FAULTS", "zeInit:1=0x7ffffffe"}}),
                             expect_nothing_called_after_failing("zeInit: "));
}

// A loader that has zeInitDrivers may have found drivers that have not.
TEST(LoadingTest, DriversThatKnowZeInitAloneAreUsed) {
  for (const char* answer : {"0x78000003", "0x78000001", "0x7ffffffe", "0"}) {
    OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_LOADER", newer_loader},
                                 {"OUTBACK_TEST_ZE_INIT_DRIVERS", answer},
                                 {"OUTBACK_ZE_API", "1.3"}}),
                               {
                                 EXPECT_EQ(device_count(), 2);
                                 EXPECT_GE(calls("zeInit"), 1u);
                                 void* ptr = nullptr;
                                 must(table().mem_alloc(table().self, 1, 64, &ptr));
                               });
  }
}

TEST(LoadingTest, WhereNeitherWayWorksBothAreTold) {
  OUTBACK_IN_ITS_OWN_PROCESS(
      ({{"OUTBACK_ZE_LOADER", newer_loader},
        {"OUTBACK_TEST_ZE_INIT_DRIVERS", "0x78000003"},
        {"OUTBACK_ZE_FAULTS", "zeInit:*=0x70010000"}}),
      {
        expect_every_slot_to_say("zeInitDrivers: ZE_RESULT_ERROR_UNSUPPORTED_FEATURE (0x78000003)");
        expect_every_slot_to_say("; zeInit: ");
        expect_every_slot_to_say("the right to open /dev/dri/renderD*");
      });
}

TEST(LoadingTest, ADriverThatCannotListItsDevices) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_FAULTS", "zeDeviceGet:1=0x70000002"}}),
                             expect_nothing_called_after_failing(
                                 "zeDeviceGet: ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY (0x70000002)"));
  OUTBACK_IN_ITS_OWN_PROCESS(
      ({{"OUTBACK_ZE_FAULTS", "zeDeviceGetProperties:2=0x70000001"}}),
      expect_nothing_called_after_failing(
          "zeDeviceGetProperties: ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)"));
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_FAULTS", "zeDriverGetApiVersion:1=0x70000001"}}),
                             expect_nothing_called_after_failing("zeDriverGetApiVersion: "));
}

TEST(LoadingTest, AMalformedVariableIsWhatEverySlotSays) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_IN_ORDER", "yes"}}), {
    int32_t count = -77;
    EXPECT_EQ(table().device_count(table().self, &count), OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(count, -77);
    EXPECT_THAT(last_error(), HasSubstr("OUTBACK_ZE_IN_ORDER=yes: expected 1"));
    EXPECT_EQ(table().device_sync(table().self, 0), OUTBACK_INVALID_ARGUMENT);
    EXPECT_THAT(last_error(), HasSubstr("OUTBACK_ZE_IN_ORDER=yes"));
  });
}

// What one process tells the next.
std::string uuid_file() {
  return testing::TempDir() + "outback_ze_affinity_uuid";
}

TEST(LoadingTest, TheAffinityMaskChoosesDevices) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_DEVICES", "3"}}), {
    EXPECT_EQ(device_count(), 3);
    // Each has an identity of its own.
    EXPECT_NE(std::memcmp(info_of(0).uuid, info_of(1).uuid, 16), 0);
    EXPECT_STRNE(info_of(0).pci_id, info_of(1).pci_id);
    std::ofstream(uuid_file()).write(reinterpret_cast<const char*>(info_of(1).uuid), 16);
  });
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_DEVICES", "3"}, {"ZE_AFFINITY_MASK", "1"}}), {
    EXPECT_EQ(device_count(), 1);
    char uuid[16] = {};
    std::ifstream(uuid_file()).read(uuid, 16);
    EXPECT_EQ(std::memcmp(info_of(0).uuid, uuid, 16), 0);
  });
}

TEST(LoadingTest, TheHierarchyDecidesWhatIsADevice) {
  OUTBACK_IN_ITS_OWN_PROCESS(({{"OUTBACK_ZE_TILES", "2"}, {"ZE_FLAT_DEVICE_HIERARCHY", "FLAT"}}),
                             EXPECT_EQ(device_count(), 4));
  OUTBACK_IN_ITS_OWN_PROCESS(
      ({{"OUTBACK_ZE_TILES", "2"}, {"ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE"}}),
      EXPECT_EQ(device_count(), 2));
}

}  // namespace
}  // namespace outback::test_level_zero
