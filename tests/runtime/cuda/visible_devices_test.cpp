// CUDA_VISIBLE_DEVICES as CUDA reads it.
#include "backend_template/runtimes/cuda/visible_devices.hpp"

#include <gmock/gmock.h>

namespace outback::cuda {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<machine_gpu> three = {
    {.uuid = "GPU-aa11"}, {.uuid = "GPU-ab22"}, {.uuid = "GPU-cc33"}};

std::vector<std::string> visible(const char* variable,
                                 const std::vector<machine_gpu>& machine = three) {
  return visible_devices(variable, machine).value();
}

TEST(VisibleDevicesTest, WithoutTheVariableAllAre) {
  EXPECT_THAT(visible(nullptr), ElementsAre("GPU-aa11", "GPU-ab22", "GPU-cc33"));
}

TEST(VisibleDevicesTest, AnEmptyOneLeavesNone) {
  EXPECT_THAT(visible(""), IsEmpty());
  EXPECT_THAT(visible(" "), IsEmpty());
}

TEST(VisibleDevicesTest, IndicesChooseAndOrder) {
  EXPECT_THAT(visible("2,0"), ElementsAre("GPU-cc33", "GPU-aa11"));
  EXPECT_THAT(visible(" 1 , 2 "), ElementsAre("GPU-ab22", "GPU-cc33"));
  EXPECT_THAT(visible("+1"), ElementsAre("GPU-ab22"));
  EXPECT_THAT(visible("1gpu,2"), ElementsAre("GPU-ab22", "GPU-cc33"));
}

TEST(VisibleDevicesTest, WhatIsNoDeviceEndsTheList) {
  EXPECT_THAT(visible("0,-1,1"), ElementsAre("GPU-aa11"));
  EXPECT_THAT(visible("0,3,1"), ElementsAre("GPU-aa11"));
  EXPECT_THAT(visible("0,,1"), ElementsAre("GPU-aa11"));
  EXPECT_THAT(visible("1,gpu"), ElementsAre("GPU-ab22"));
  EXPECT_THAT(visible("99999999999999999999,0"), IsEmpty());
  EXPECT_THAT(visible("-1"), IsEmpty());
  EXPECT_THAT(visible("NoDevFiles"), IsEmpty());
}

TEST(VisibleDevicesTest, ADeviceTwiceLeavesNone) {
  EXPECT_THAT(visible("0,1,0"), IsEmpty());
  EXPECT_THAT(visible("GPU-aa,GPU-aa11"), IsEmpty());
}

TEST(VisibleDevicesTest, UuidsMayBeCut) {
  EXPECT_THAT(visible("GPU-cc,GPU-aa11"), ElementsAre("GPU-cc33", "GPU-aa11"));
  EXPECT_THAT(visible("GPU-a"), IsEmpty());  // two begin like that
  EXPECT_THAT(visible("GPU-cc,GPU-dd,GPU-aa"), ElementsAre("GPU-cc33"));
}

TEST(VisibleDevicesTest, TheFirstEntrySaysWhatAllAre) {
  EXPECT_THAT(visible("GPU-cc,0"), ElementsAre("GPU-cc33"));
  EXPECT_THAT(visible("0,GPU-cc"), ElementsAre("GPU-aa11"));
}

// ---- Devices in parts

const std::vector<machine_gpu> divided = {
    {.uuid = "GPU-aa11"},
    {.uuid = "GPU-bb22",
     .divided = true,
     .instances = {{.uuid = "MIG-11", .gpu_instance = 1, .compute_instance = 0},
                   {.uuid = "MIG-22", .gpu_instance = 2, .compute_instance = 3}}}};

TEST(VisibleDevicesTest, InstancesByBothOfTheirNames) {
  EXPECT_THAT(visible("MIG-22", divided), ElementsAre("MIG-22"));
  EXPECT_THAT(visible("MIG-GPU-bb22/2/3", divided), ElementsAre("MIG-22"));
  EXPECT_THAT(visible("MIG-GPU-bb22/1/0", divided), ElementsAre("MIG-11"));
}

TEST(VisibleDevicesTest, OfInstancesThereIsOne) {
  EXPECT_THAT(visible("MIG-22,MIG-11", divided), ElementsAre("MIG-22"));
  EXPECT_THAT(visible("MIG-33", divided), IsEmpty());
  EXPECT_THAT(visible("MIG-GPU-bb22/2/0", divided), IsEmpty());
  EXPECT_THAT(visible("MIG-GPU-aa11/0/0", divided), IsEmpty());
}

TEST(VisibleDevicesTest, OnlyCudaKnowsWhatAWholeDividedDeviceIs) {
  EXPECT_EQ(visible_devices(nullptr, divided), std::nullopt);
  EXPECT_EQ(visible_devices("1", divided), std::nullopt);
  EXPECT_EQ(visible_devices("GPU-bb", divided), std::nullopt);
  EXPECT_THAT(visible("0", divided), ElementsAre("GPU-aa11"));
}

}  // namespace
}  // namespace outback::cuda
