// CUDA_VISIBLE_DEVICES, as the programming guide has it.
#include <gtest/gtest.h>

#include "tests/fakes/cudart/devices.hpp"

namespace fake_cuda {
namespace {

// The physical devices and instances that are enumerated: "0 2", "1.0" for an instance.
std::string seen(std::optional<std::string> visible, std::vector<std::pair<int, int>> mig = {}) {
  settings given;
  given.devices = 4;
  given.visible = std::move(visible);
  given.mig = std::move(mig);
  std::string text;
  for (const auto& each : visible_devices(given)) {
    if (!text.empty()) text += ' ';
    text += std::to_string(each.physical);
    if (each.instance >= 0) text += "." + std::to_string(each.instance);
  }
  return text;
}

std::string uuid(int physical) {
  settings given;
  given.devices = 4;
  return physical_devices(given)[std::size_t(physical)].uuid_text;
}

TEST(VisibleDevices, AreAllWhereNothingIsSaid) {
  EXPECT_EQ(seen(std::nullopt), "0 1 2 3");
  EXPECT_EQ(seen(""), "");
}

TEST(VisibleDevices, AreCountedInTheirOrder) {
  EXPECT_EQ(seen("2"), "2");
  EXPECT_EQ(seen("3,0, 1"), "3 0 1");
}

TEST(VisibleDevices, EndBeforeWhatThereIsNot) {
  EXPECT_EQ(seen("1,4,2"), "1");
  EXPECT_EQ(seen("-1,0"), "");
  EXPECT_EQ(seen("0,,1"), "0");
  EXPECT_EQ(seen("0,NoDevFiles,1"), "0");
}

TEST(VisibleDevices, AreNoneWhereOneIsNamedTwice) {
  EXPECT_EQ(seen("0,1,0"), "");
  EXPECT_EQ(seen("0," + uuid(0)), "");
}

TEST(VisibleDevices, AreKnownByTheBeginningsOfTheirUuids) {
  EXPECT_EQ(seen(uuid(2)), "2");
  EXPECT_EQ(seen(uuid(3).substr(0, 12) + "," + uuid(1)), "3 1");
  EXPECT_EQ(seen("GPU-"), "");  // any of four
  EXPECT_EQ(seen(uuid(1) + "0"), "");
}

TEST(VisibleDevices, AreInstancesOfPartitionedOnes) {
  const std::vector<std::pair<int, int>> mig = {{1, 3}};
  EXPECT_EQ(seen(std::nullopt, mig), "1.0");  // with one of them, there is nothing else
  EXPECT_EQ(seen("0,2", mig), "0 2");
  EXPECT_EQ(seen("1", mig), "1.0");
  settings given;
  given.devices = 4;
  given.mig = mig;
  const auto instances = instances_of(given, 1);
  ASSERT_EQ(instances.size(), 3u);
  EXPECT_EQ(instances[2].memory, given.memory / 3);
  EXPECT_EQ(seen(instances[2].uuid_text, mig), "1.2");
  EXPECT_EQ(seen("MIG-" + uuid(1) + "/2/0", mig), "1.1");
  EXPECT_EQ(seen("MIG-" + uuid(1) + "/9/0", mig), "");
  EXPECT_EQ(seen("MIG-" + uuid(0) + "/1/0", mig), "");
}

}  // namespace
}  // namespace fake_cuda
