// A device whose driver says that it has no float64: the registration need not say so too.
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend_template/core/devices/device.h"
#include "backend_template/core/devices/dtypes.h"
#include "backend_template/core/devices/lazy_start.h"
#include "outback/backend.h"
#include "outback/runtime.hpp"
#include "tests/runtime/whole_runtime.hpp"

namespace outback::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class runtime_without_float64 : public whole_runtime {
 public:
  outback_device_info device_info(int32_t device) {
    outback_device_info info = whole_runtime::device_info(device);
    info.flags |= OUTBACK_NO_FLOAT64 | OUTBACK_NO_FLOAT16 | OUTBACK_NO_BFLOAT16;
    return info;
  }
};

bool tells(c10::ScalarType dtype) {
  return (core::capability().capability_data.capability_bits >> static_cast<unsigned>(dtype) & 1) !=
         0;
}

TEST(DtypesOfDeviceTest, TheFirstTensorIsRefusedToo) {
  register_backend({.name = "acme",
                    .runtime = table_of(*new runtime_without_float64),  // leaked
                    .unsupported_dtypes = {at::kBool}});
  EXPECT_FALSE(core::is_started());
  EXPECT_TRUE(tells(at::kDouble));  // not known yet
  EXPECT_FALSE(tells(at::kBool));
  EXPECT_TRUE(core::supports(at::kFloat));
  EXPECT_FALSE(core::is_started());

  const at::Device device(core::device_type, 0);
  const auto makes = [&](c10::ScalarType dtype) {
    at::empty({2}, at::device(device).dtype(dtype));
  };
  EXPECT_THAT([&] { makes(at::kDouble); },
              ThrowsMessage<c10::TypeError>(HasSubstr(
                  "a tensor of acme cannot be torch.float64: the device does not support")));
  EXPECT_TRUE(core::is_started());
  EXPECT_THAT([&] { makes(at::kComplexDouble); }, ThrowsMessage<c10::TypeError>(HasSubstr("128")));
  EXPECT_THAT([&] { makes(at::kBool); }, ThrowsMessage<c10::TypeError>(HasSubstr("torch.bool")));
  for (const auto dtype : {at::kFloat, at::kHalf, at::kBFloat16, at::kLong}) makes(dtype);
  EXPECT_FALSE(tells(at::kDouble));
  EXPECT_TRUE(tells(at::kHalf));
  EXPECT_FALSE(core::supports_all());
}

}  // namespace
}  // namespace outback::test
