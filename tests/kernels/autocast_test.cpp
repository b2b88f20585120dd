// Cast policies, one by one and with every way in which an operator takes tensors.
#include "outback/kernels/autocast.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "backend_template/kernels/autocast_cache.h"  // beside torch's header, to be compared
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

using kernels::cast_policy;
using ::testing::Each;
using ::testing::ElementsAre;

std::vector<c10::ScalarType> seen;

// The dtypes that the kernel gets, in order.
void note(const at::Tensor& x, const std::optional<at::Tensor>& y, at::TensorList more,
          const c10::List<std::optional<at::Tensor>>& perhaps) {
  seen = {x.scalar_type()};
  if (y) seen.push_back(y->scalar_type());
  for (const at::Tensor& tensor : more) seen.push_back(tensor.scalar_type());
  for (const std::optional<at::Tensor>& tensor : perhaps) {
    if (tensor) seen.push_back(tensor->scalar_type());
  }
}

TORCH_LIBRARY_FRAGMENT(outback_test, m) {
  for (const char* name : {"lower", "fp32", "promote"}) {
    m.def((std::string(name) + "(Tensor x, Tensor? y, Tensor[] more, Tensor?[] perhaps) -> ()")
              .c_str());
  }
}
TORCH_LIBRARY_IMPL(outback_test, PrivateUse1, m) {
  for (const char* name : {"lower", "fp32", "promote"}) m.impl(name, &note);
}
TORCH_LIBRARY_IMPL(outback_test, AutocastPrivateUse1, m) {
  m.impl("lower", kernels::autocast(cast_policy::lower_precision_fp));
  m.impl("fp32", kernels::autocast(cast_policy::fp32));
  m.impl("promote", kernels::autocast(cast_policy::promote));
}

class AutocastTest : public BackendTest {
 protected:
  static void SetUpTestSuite() {
    BackendTest::SetUpTestSuite();
    at::autocast::set_autocast_dtype(device(0).type(), at::kBFloat16);
  }
  void SetUp() override { at::autocast::set_autocast_enabled(device(0).type(), true); }
  void TearDown() override {
    at::autocast::set_autocast_enabled(device(0).type(), false);
    at::autocast::clear_cache();
  }

  static at::Tensor of(c10::ScalarType dtype) {
    return at::ones({2}, at::TensorOptions(dtype).device(device(0)));
  }
  static void call(const char* name, c10::ScalarType x, c10::ScalarType others) {
    const at::Tensor other = of(others);
    c10::Dispatcher::singleton()
        .findSchemaOrThrow((std::string("outback_test::") + name).c_str(), "")
        .typed<decltype(note)>()
        .call(of(x), other, {other}, c10::List<std::optional<at::Tensor>>({other, std::nullopt}));
  }
};

TEST_F(AutocastTest, ToLowerPrecision) {
  call("lower", at::kFloat, at::kHalf);
  EXPECT_THAT(seen, ElementsAre(at::kBFloat16, at::kBFloat16, at::kBFloat16, at::kBFloat16));
}

TEST_F(AutocastTest, ToFloat32) {
  call("fp32", at::kBFloat16, at::kHalf);
  EXPECT_THAT(seen, ElementsAre(at::kFloat, at::kFloat, at::kFloat, at::kFloat));
}

TEST_F(AutocastTest, ToTheWidest) {
  call("promote", at::kBFloat16, at::kBFloat16);
  EXPECT_THAT(seen, Each(at::kBFloat16));
  call("promote", at::kBFloat16, at::kFloat);
  EXPECT_THAT(seen, Each(at::kFloat)) << "lists count as well";
  call("promote", at::kFloat, at::kBFloat16);
  EXPECT_THAT(seen, Each(at::kFloat));
}

TEST_F(AutocastTest, ToTheWidestOfWhatHasNone) {
  EXPECT_THAT([] { call("promote", at::kHalf, at::kHalf); },
              ::testing::ThrowsMessage<c10::Error>(
                  ::testing::HasSubstr("a tensor of Half where autocast is to BFloat16")));
  call("promote", at::kFloat, at::kHalf);
  EXPECT_THAT(seen, Each(at::kFloat));
  call("promote", at::kBFloat16, at::kDouble);
  EXPECT_THAT(seen, ElementsAre(at::kBFloat16, at::kDouble, at::kDouble, at::kDouble));
}

TEST_F(AutocastTest, NothingIsWiderThanFloat64) {
  at::autocast::set_autocast_dtype(device(0).type(), at::kDouble);
  EXPECT_THAT(
      [] { call("promote", at::kFloat, at::kFloat); },
      ::testing::ThrowsMessage<c10::Error>(::testing::HasSubstr("autocast is to Double, which")));
  at::autocast::set_autocast_dtype(device(0).type(), at::kBFloat16);
}

TEST_F(AutocastTest, IntegersAndFloat64AreLeftAlone) {
  call("lower", at::kInt, at::kDouble);
  EXPECT_THAT(seen, ElementsAre(at::kInt, at::kDouble, at::kDouble, at::kDouble));
}

TEST_F(AutocastTest, NothingHappensOutsideOfAutocast) {
  at::autocast::set_autocast_enabled(device(0).type(), false);
  call("lower", at::kFloat, at::kHalf);
  EXPECT_THAT(seen, ElementsAre(at::kFloat, at::kHalf, at::kHalf, at::kHalf));
}

}  // namespace
}  // namespace outback::test
