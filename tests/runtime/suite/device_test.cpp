// Devices: how many there are, what they say of themselves, and the group device_state.
#include <cstring>
#include <stdexcept>

#include "tests/runtime/suite/suite.hpp"

namespace outback::suite {
namespace {

class DeviceTest : public RuntimeTest {};

TEST_F(DeviceTest, CountIsTheSameInEveryThread) {
  const int32_t count = device_count();
  in_threads(4, [&](int) {
    if (device_count() != count) throw std::runtime_error("another count in another thread");
  });
}

TEST_F(DeviceTest, InfoIsWhole) {
  for (int32_t d = 0; d < device_count(); ++d) {
    SCOPED_TRACE(d);
    const outback_device_info info = device_info(d);
    EXPECT_GT(info.memory_size, 0u);
    EXPECT_GT(info.max_alloc_size, 0u);
    EXPECT_LE(info.max_alloc_size, info.memory_size);
    EXPECT_GE(info.alignment, 64u);
    EXPECT_EQ(info.alignment & (info.alignment - 1), 0u) << "no power of two: " << info.alignment;
    EXPECT_NE(info.name[0], '\0');
    EXPECT_NE(std::memchr(info.name, 0, sizeof(info.name)), nullptr);
    EXPECT_NE(std::memchr(info.pci_id, 0, sizeof(info.pci_id)), nullptr);
    if (info.kernels_of == 1) {
      EXPECT_TRUE(info.flags & OUTBACK_HOST_ADDRESSABLE)
          << "CPU kernels need memory that the CPU can reach";
    }
  }
}

TEST_F(DeviceTest, InfoWritesNoFurtherThanTheCallersStruct) {
  const outback_device_info whole = device_info();
  for (const uint32_t size :
       {uint32_t(offsetof(outback_device_info, max_alloc_size)),
        uint32_t(offsetof(outback_device_info, name)), uint32_t(sizeof(whole) - 1)}) {
    SCOPED_TRACE(size);
    outback_device_info small;
    std::memset(&small, 0xee, sizeof(small));
    small.struct_size = size;
    EXPECT_OK(table().device_info(table().self, 0, &small));
    EXPECT_EQ(small.struct_size, size);
    EXPECT_EQ(small.flags, whole.flags);
    EXPECT_EQ(small.memory_size, whole.memory_size);
    const auto* raw = reinterpret_cast<const unsigned char*>(&small);
    for (std::size_t i = size; i < sizeof(small); ++i) EXPECT_EQ(raw[i], 0xee) << "byte " << i;
  }
}

TEST_F(DeviceTest, InfoFillsAStructOfANewerCaller) {
  struct {
    outback_device_info known;
    uint64_t appended[4];
  } newer = {};
  newer.known.struct_size = sizeof(newer);
  EXPECT_OK(table().device_info(table().self, 0, &newer.known));
  EXPECT_EQ(newer.known.memory_size, device_info().memory_size);
  EXPECT_STREQ(newer.known.name, device_info().name);
}

TEST_F(DeviceTest, AnIdleDeviceSyncs) {
  for (int32_t d = 0; d < device_count(); ++d) EXPECT_OK(table().device_sync(table().self, d));
}

TEST_F(DeviceTest, TheCpuReachesHostAddressableMemory) {
  OUTBACK_NEEDS(device_info().flags & OUTBACK_HOST_ADDRESSABLE, "host-addressable memory");
  const bytes first = noise(4097, 1), second = noise(4097, 2);
  memory data(first);
  check_reach(data.at(), first.size(), "mem_alloc");
  const bytes seen(static_cast<std::byte*>(data.at()), static_cast<std::byte*>(data.at(4097)));
  EXPECT_TRUE(same(seen, first));
  std::memcpy(data.at(), second.data(), second.size());
  EXPECT_TRUE(same(data.read(), second));
}

TEST_F(DeviceTest, TheDeviceReachesAnyHostMemory) {
  OUTBACK_NEEDS(device_info().flags & OUTBACK_ADDRESSES_HOST,
                "a device that addresses host memory");
  bytes host = noise(4097, 1);
  memory data(4097);
  check(table().mem_copy(table().self, data.at(), 0, host.data(), 0, host.size(), nullptr),
        "mem_copy");
  EXPECT_TRUE(same(data.read(), host));
  const std::byte seven{7};
  EXPECT_OK(table().mem_fill(table().self, 0, host.data(), host.size(), &seven, 1, nullptr));
  EXPECT_OK(table().device_sync(table().self, 0));
  EXPECT_TRUE(same(host, all(4097, 7)));
}

class DeviceStateTest : public RuntimeTest {};

TEST_F(DeviceStateTest, EveryDeviceCanBeSelected) {
  OUTBACK_NEEDS_GROUP(device_state);
  for (int32_t d = 0; d < device_count(); ++d) {
    EXPECT_OK(table().device_state->select(table().self, d));
    memory data(noise(100, 3), 0);  // still works: no other slot depends on what is selected
    EXPECT_TRUE(same(data.read(), noise(100, 3)));
  }
}

TEST_F(DeviceStateTest, ADeviceWithMemoryIsActive) {
  OUTBACK_NEEDS_GROUP(device_state);
  memory data(1);
  int32_t active = -1;
  EXPECT_OK(table().device_state->is_active(table().self, 0, &active));
  EXPECT_EQ(active, 1);
}

TEST_F(DeviceStateTest, UsageFollowsAllocations) {
  OUTBACK_NEEDS_GROUP(device_state);
  std::size_t free_before = 0, free_after = 0, total = 0;
  memory warm_up(1);  // a context takes memory too
  EXPECT_OK(table().device_state->memory_usage(table().self, 0, &free_before, &total));
  EXPECT_LE(free_before, total);
  EXPECT_GT(total, 0u);
  memory data(big());
  EXPECT_OK(table().device_state->memory_usage(table().self, 0, &free_after, &total));
  EXPECT_LE(free_after + big() / 2,
            free_before);  // half: other processes may give memory back meanwhile
}

}  // namespace
}  // namespace outback::suite
