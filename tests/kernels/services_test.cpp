// Native kernels that find no backend of theirs say so.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "outback/kernels/runtime.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;

std::string refusal() {
  try {
    kernels::runtime();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "none";
}

// One test, as a process registers once.
TEST(ServicesTest, WithoutThemTheReasonIsNamed) {
  EXPECT_THAT(refusal(), HasSubstr("no backend is registered"));

  at::RegisterPrivateUse1HooksInterface(new at::PrivateUse1HooksInterface);
  EXPECT_THAT(refusal(), HasSubstr("compile both with one"));
}

}  // namespace
}  // namespace outback::test
