// Which devices there are, and what they say of themselves: run with several environments.
#include <set>
#include <string>

#include "tests/fakes/level_zero/client.hpp"

namespace outback::software_ze {
namespace {

class DevicesTest : public testing::driver_test {
 protected:
  ze_device_properties_t properties(
      ze_device_handle_t device, ze_structure_type_t type = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES) {
    ze_device_properties_t read{};
    read.stype = type;
    EXPECT_SUCCESS(ZE(zeDeviceGetProperties)(device, &read));
    return read;
  }
  uint64_t memory(ze_device_handle_t device) {
    ze_device_memory_properties_t read{};
    read.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
    uint32_t count = 1;
    EXPECT_SUCCESS(ZE(zeDeviceGetMemoryProperties)(device, &count, &read));
    EXPECT_EQ(count, 1u);
    return read.totalSize;
  }
};

// OUTBACK_ZE_TEST_DEVICES is what the configuration must give: names, from the first device on.
TEST_F(DevicesTest, AreThoseThatTheEnvironmentAsksFor) {
  const char* expected = std::getenv("OUTBACK_ZE_TEST_DEVICES");
  if (!expected) GTEST_SKIP() << "needs OUTBACK_ZE_TEST_DEVICES";
  std::string names;
  for (auto* device : devices) {
    const std::string name = properties(device).name;
    names += (names.empty() ? "" : ",") + name.substr(std::string("Outback Software GPU ").size());
  }
  EXPECT_EQ(names, expected);
}

TEST_F(DevicesTest, AreTwoOf256MiBUnlessToldOtherwise) {
  if (std::getenv("OUTBACK_ZE_TEST_DEVICES")) GTEST_SKIP() << "needs the default devices";
  ASSERT_EQ(devices.size(), 2u);
  std::set<std::string> uuids;
  for (auto* device : devices) {
    EXPECT_EQ(memory(device), 256u << 20);
    const auto read = properties(device);
    EXPECT_EQ(read.type, ZE_DEVICE_TYPE_GPU);
    EXPECT_EQ(read.maxMemAllocSize, 128u << 20);
    EXPECT_EQ(read.timestampValidBits, 36u);
    EXPECT_EQ(read.timerResolution, 83u) << "nanoseconds";
    EXPECT_EQ(properties(device, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2).timerResolution,
              12000000u)
        << "hertz";
    uuids.emplace(reinterpret_cast<const char*>(read.uuid.id), sizeof read.uuid.id);
    ze_pci_ext_properties_t pci{};
    pci.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES;
    EXPECT_SUCCESS(ZE(zeDevicePciGetPropertiesExt)(device, &pci));
    uuids.insert(std::to_string(pci.address.bus));
  }
  EXPECT_EQ(uuids.size(), 4u) << "UUIDs and addresses are each device's own";
}

TEST_F(DevicesTest, SubDevicesArePartsOfTheirCard) {
  for (auto* device : devices) {
    uint32_t count = 0;
    EXPECT_SUCCESS(ZE(zeDeviceGetSubDevices)(device, &count, nullptr));
    std::vector<ze_device_handle_t> parts(count);
    EXPECT_SUCCESS(ZE(zeDeviceGetSubDevices)(device, &count, parts.data()));
    for (auto* part : parts) {
      EXPECT_TRUE(properties(part).flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE);
      EXPECT_EQ(memory(part) * count, memory(device));
      const ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
      void* made = nullptr;
      EXPECT_SUCCESS(ZE(zeMemAllocDevice)(context, &desc, 1, 1, part, &made));
      EXPECT_EQ(CONTROL(outback_ze_memory_used)(0), 65536u) << "it is the card's memory";
      free_memory(made);
    }
  }
}

TEST_F(DevicesTest, PeersAccessEachOtherUnlessToldOtherwise) {
  if (devices.size() < 2) GTEST_SKIP() << "needs two devices";
  const char* peer = std::getenv("OUTBACK_ZE_PEER");
  const bool peers = !peer || std::string(peer) == "1";
  ze_bool_t can = false;
  EXPECT_SUCCESS(ZE(zeDeviceCanAccessPeer)(devices[0], devices[1], &can));
  EXPECT_EQ(can != 0, peers);
  EXPECT_SUCCESS(ZE(zeDeviceCanAccessPeer)(devices[0], devices[0], &can));
  EXPECT_TRUE(can);
  auto* theirs = device_memory(100, 1);
  auto* mine = device_memory(100, 0);
  const auto list = immediate_list(0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  const auto copied =
      ZE(zeCommandListAppendMemoryCopy)(list, mine, theirs, 100, nullptr, 0, nullptr);
  if (peers) {
    EXPECT_EQ(copied, ZE_RESULT_SUCCESS);
  } else {
    EXPECT_EQ(copied, ZE_RESULT_ERROR_INVALID_ARGUMENT);
    expect_violation("which Outback Software GPU 0 cannot access");
  }
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  free_memory(theirs);
  free_memory(mine);
}

TEST_F(DevicesTest, QueueGroupsSayWhatTheyFill) {
  uint32_t count = 0;
  ASSERT_SUCCESS(ZE(zeDeviceGetCommandQueueGroupProperties)(devices.at(0), &count, nullptr));
  const bool copies = std::getenv("OUTBACK_ZE_COPY_GROUP") != nullptr;
  ASSERT_EQ(count, copies ? 2u : 1u);
  std::vector<ze_command_queue_group_properties_t> groups(count);
  ASSERT_SUCCESS(ZE(zeDeviceGetCommandQueueGroupProperties)(devices[0], &count, groups.data()));
  EXPECT_TRUE(groups[0].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE);
  EXPECT_EQ(groups[0].numQueues, 4u);
  EXPECT_EQ(groups[0].maxMemoryFillPatternSize, 16u);
  ze_command_queue_desc_t desc{};
  desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  desc.index = 4;
  ze_command_list_handle_t list = nullptr;
  EXPECT_EQ(ZE(zeCommandListCreateImmediate)(context, devices[0], &desc, &list),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  desc.index = 0;
  desc.ordinal = count;
  EXPECT_EQ(ZE(zeCommandListCreateImmediate)(context, devices[0], &desc, &list),
            ZE_RESULT_ERROR_INVALID_ARGUMENT);
  if (!copies) return;
  EXPECT_EQ(groups[1].flags, uint32_t{ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY});
  desc.ordinal = 1;
  ASSERT_SUCCESS(ZE(zeCommandListCreateImmediate)(context, devices[0], &desc, &list));
  auto* memory = device_memory(100);
  const uint32_t pattern = 1;
  EXPECT_EQ(ZE(zeCommandListAppendMemoryFill)(list, memory, &pattern, 4, 100, nullptr, 0, nullptr),
            ZE_RESULT_ERROR_INVALID_SIZE);
  EXPECT_SUCCESS(ZE(zeCommandListDestroy)(list));
  free_memory(memory);
}

}  // namespace
}  // namespace outback::software_ze
