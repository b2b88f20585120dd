// outback::is_backend and to_backend of tensors and storages, and what cannot be there.
#include <ATen/ATen.h>
#include <ATen/DeviceAccelerator.h>
#include <gmock/gmock.h>

#include <numeric>
#include <vector>

#include "backend_template/core/devices/device.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;

class ToBackendTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_backend(
        {.name = "acme", .runtime = host_table(), .unsupported_dtypes = {at::kDouble}});
  }
  void TearDown() override { core::set_device(0); }

  static c10::Device device(int index) {
    return c10::Device(core::device_type, static_cast<c10::DeviceIndex>(index));
  }
};

std::vector<uint8_t> bytes_of(const c10::Storage& storage) {
  const auto options = at::TensorOptions().dtype(at::kByte).device(storage.device());
  const at::Tensor tensor = at::empty({0}, options).set_(storage).cpu();
  return {tensor.data_ptr<uint8_t>(), tensor.data_ptr<uint8_t>() + tensor.numel()};
}

TEST_F(ToBackendTest, NothingIsNotOnTheBackend) {
  EXPECT_FALSE(is_backend(at::Tensor()));
  EXPECT_FALSE(is_backend(c10::Storage()));
  EXPECT_THROW(to_backend(at::Tensor()), c10::ValueError);
  EXPECT_THROW(to_backend(c10::Storage()), c10::ValueError);
}

TEST_F(ToBackendTest, TheCurrentDeviceIsTheDefault) {
  core::set_device(1);
  EXPECT_EQ(to_backend(at::ones({2})).device(), device(1));
  EXPECT_EQ(to_backend(at::ones({2}).storage()).device(), device(1));
  EXPECT_EQ(to_backend(at::ones({2}), 0).device(), device(0));
}

TEST_F(ToBackendTest, DevicesThatDoNotExistAreRefused) {
  EXPECT_THROW(to_backend(at::ones({2}), 2), c10::AcceleratorError);
  EXPECT_THROW(to_backend(at::ones({2}).storage(), -1), c10::AcceleratorError);
}

TEST_F(ToBackendTest, AStorageGoesFromDeviceToDeviceAndBack) {
  std::vector<uint8_t> expected(1000);
  std::iota(expected.begin(), expected.end(), uint8_t{0});
  const at::Tensor host = at::tensor(expected, at::kByte);
  const c10::Storage first = to_backend(host.storage(), 0);
  const c10::Storage second = to_backend(first, 1, /*non_blocking=*/true);
  EXPECT_TRUE(is_backend(first));
  EXPECT_FALSE(is_backend(host.storage()));
  EXPECT_EQ(second.device(), device(1));
  EXPECT_EQ(bytes_of(second), expected);
}

TEST_F(ToBackendTest, AStorageThatIsThereIsItself) {
  const c10::Storage there = to_backend(at::ones({2}).storage(), 1);
  EXPECT_EQ(to_backend(there, 1).unsafeGetStorageImpl(), there.unsafeGetStorageImpl());
  EXPECT_NE(to_backend(there, 0).unsafeGetStorageImpl(), there.unsafeGetStorageImpl());
}

TEST_F(ToBackendTest, AnEmptyStorageMovesToo) {
  const c10::Storage there = to_backend(at::empty({0}).storage(), 0);
  EXPECT_EQ(there.device(), device(0));
  EXPECT_EQ(there.nbytes(), 0u);
}

TEST_F(ToBackendTest, AnUnsupportedDtypeIsNamed) {
  try {
    to_backend(at::ones({2}, at::kDouble));
    FAIL() << "accepted";
  } catch (const c10::TypeError& error) {
    EXPECT_THAT(error.what_without_backtrace(),
                HasSubstr("a tensor of acme cannot be torch.float64"));
  }
  const auto there = at::TensorOptions().device(device(0));
  EXPECT_THROW(at::empty({1}, there.dtype(at::kDouble)), c10::TypeError);
  EXPECT_THROW(at::empty_strided({1}, {1}, there.dtype(at::kDouble)), c10::TypeError);
  EXPECT_THROW(at::ones({1}, there).to(at::kDouble), c10::TypeError);
  EXPECT_THROW(at::linspace(0, 1, 3, there.dtype(at::kDouble)), c10::TypeError);
  EXPECT_EQ(at::ones({1}, there).to(at::kHalf).scalar_type(), at::kHalf);
}

TEST_F(ToBackendTest, TheCapabilitiesLackIt) {
  const c10::impl::VirtualGuardImpl guard(core::device_type);
  bool has_double = false;
  bool has_float = false;
  guard.getDeviceCapability(device(0)).forEachSupportedScalarType([&](c10::ScalarType dtype) {
    has_double |= dtype == at::kDouble;
    has_float |= dtype == at::kFloat;
  });
  EXPECT_FALSE(has_double);
  EXPECT_TRUE(has_float);
}

}  // namespace
}  // namespace outback::test
