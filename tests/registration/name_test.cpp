// What a device may be called.
#include "registration/name.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace outback::registration
