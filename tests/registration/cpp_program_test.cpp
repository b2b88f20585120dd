// A C++ program without Python: it links libtorch, registers a backend, and trains on it.
#include <ATen/ATen.h>
#include <ATen/DeviceAccelerator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

class CppProgramTest : public BackendTest {};

TEST_F(CppProgramTest, TensorsGoToTheDeviceAndBack) {
  const at::Tensor host = at::rand({3, 5});
  const at::Tensor there = to_backend(host, 1);
  EXPECT_TRUE(is_backend(there));
  EXPECT_FALSE(is_backend(host));
  EXPECT_EQ(there.device(), device(1));
  EXPECT_TRUE(there.cpu().equal(host));
  EXPECT_TRUE(to_backend(there, 1).is_same(there)) << "it is there already";
}

TEST_F(CppProgramTest, DeviceStringsKnowTheName) {
  const at::Tensor ones = at::ones({2}, at::TensorOptions().device(at::Device("acme:1")));
  EXPECT_EQ(ones.device(), device(1));
  EXPECT_EQ(ones.sum().item<float>(), 2.0f);
}

TEST_F(CppProgramTest, NewTensorsFollowTheCurrentDevice) {
  const c10::DeviceGuard guard(device(1));
  EXPECT_EQ(at::zeros({2}, at::TensorOptions().device(c10::DeviceType::PrivateUse1)).device(),
            device(1));
  EXPECT_EQ(at::accelerator::getDeviceIndex(), 1);
}

TEST_F(CppProgramTest, SeedsReachTheDevice) {
  const auto options = at::TensorOptions().device(device(0));
  at::manual_seed(3);
  const at::Tensor first = at::randn({8}, options);
  const at::Tensor second = at::randn({8}, options);
  at::manual_seed(3);
  EXPECT_TRUE(at::randn({8}, options).equal(first));
  EXPECT_FALSE(second.equal(first));
}

TEST_F(CppProgramTest, ALinearModelLearns) {
  const auto options = at::TensorOptions().device(device(0));
  at::manual_seed(0);
  const at::Tensor inputs = at::randn({256, 4}, options);
  const at::Tensor truth = at::arange(1, 5, options).to(at::kFloat).unsqueeze(1);
  const at::Tensor targets = inputs.mm(truth);
  at::Tensor weight = at::zeros({4, 1}, options).requires_grad_();
  for (int step = 0; step < 200; ++step) {
    (inputs.mm(weight) - targets).square().mean().backward();
    const c10::NoGradGuard no_grad;
    weight.sub_(0.1 * weight.grad());
    weight.mutable_grad().zero_();
  }
  EXPECT_EQ(weight.device(), device(0));
  EXPECT_TRUE(weight.detach().cpu().allclose(truth.cpu(), 1e-3, 1e-3));
}

}  // namespace
}  // namespace outback::test
