// What a device may be called.
#include "registration/name.h"

#include <c10/core/DeviceType.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace outback::registration {
namespace {

using ::testing::HasSubstr;

TEST(NameTest, LettersAndUnderscoresAreFine) {
  for (const char* name : {"acme", "my_npu", "x"}) EXPECT_EQ(name_problem(name), "");
}

TEST(NameTest, EveryRefusalSaysWhy) {
  EXPECT_THAT(name_problem(""), HasSubstr("empty"));
  EXPECT_THAT(name_problem("Acme"), HasSubstr("upper-case"));
  EXPECT_THAT(name_problem("acme2"), HasSubstr("digits"));
  EXPECT_THAT(name_problem("my-npu"), HasSubstr("letters and underscores"));
  EXPECT_THAT(name_problem("mpsomething"), HasSubstr("torch.load"));
  EXPECT_THAT(name_problem("_acme"), HasSubstr("begin and end"));
  EXPECT_THAT(name_problem(std::string(33, 'a')), HasSubstr("33 characters"));
}

TEST(NameTest, NamesOfTorchsOwnDevicesAreRefused) {
  for (const char* name : {"cpu", "cuda", "xpu", "mps", "hip", "mtia", "xla", "vulkan", "meta",
                           "lazy", "ipu", "hpu", "privateuseone"}) {
    EXPECT_THAT(name_problem(name), HasSubstr("PyTorch has a device of that name")) << name;
  }
}

TEST(NameTest, NamesThatMeanSomethingInPythonAreRefusedWithoutPythonToo) {
  EXPECT_THAT(name_problem("data"), HasSubstr("torch.Tensor.data is there already"));
  EXPECT_THAT(name_problem("leaf"), HasSubstr("torch.Tensor has \"is_leaf\" already"));
  EXPECT_THAT(name_problem("device"), HasSubstr("torch.device is there already"));
  EXPECT_THAT(name_problem("class"), HasSubstr("tensor.class()"));
  EXPECT_THAT(name_problem("weight"), HasSubstr("torch.nn"));
}

TEST(NameTest, TheToolkitsOwnNamesAreRefused) {
  EXPECT_THAT(name_problem("outback"), HasSubstr("torch_outback"));
  EXPECT_THAT(name_problem("outback_host"), HasSubstr("torch_outback"));
  EXPECT_EQ(name_problem("outbacker"), "");
}

// The command has no other list.
TEST(NameTest, TheListHasEveryDeviceOfTorch) {
  std::string devices = taken_names;
  devices.resize(devices.find("\nPython has a keyword"));
  std::replace(devices.begin(), devices.end(), '\n', ' ');
  for (int type = 0; type < c10::COMPILE_TIME_MAX_DEVICE_TYPES; ++type) {
    const auto device = static_cast<c10::DeviceType>(type);
    if (device == c10::DeviceType::PrivateUse1) continue;
    const std::string name = c10::DeviceTypeName(device, /*lower_case=*/true);
    EXPECT_THAT(devices + " ", HasSubstr(" " + name + " "));
  }
}

}  // namespace
}  // namespace outback::registration
