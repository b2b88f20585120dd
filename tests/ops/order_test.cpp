// What the calling thread does by itself comes after what the streams still have to do, on memory
// that the CPU addresses: shown with a gate in the stream, which opens once somebody may wait for
// it.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "backend_template/core/streams/host_callback.h"
#include "backend_template/core/streams/stream.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

constexpr int64_t few = 1, some = 4096;

class OrderTest : public BackendTest, public ::testing::WithParamInterface<int64_t> {
 protected:
  void TearDown() override {
    for (const int index : {0, 1}) {
      core::exchange_stream(core::default_stream(static_cast<c10::DeviceIndex>(index)));
    }
  }

  static at::Tensor sevens(int index) {
    return at::full({GetParam()}, 7.0, at::TensorOptions().device(device(index)));
  }

  // Calls `work` while a stream that is current has a copy of ones to `x` ahead, behind a gate.
  static void while_ones_are_to_come(at::Tensor& x, const std::function<void()>& work) {
    const at::Tensor ones = at::ones({GetParam()}, at::TensorOptions().pinned_memory(true));
    const c10::Stream stream = core::new_stream(x.get_device(), 0);
    core::exchange_stream(stream);
    std::atomic<bool> open{false};
    core::enqueue_host_callback(stream, [&open] {
      while (!open) std::this_thread::yield();
    });
    x.copy_(ones, /*non_blocking=*/true);
    std::thread opener([&open] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      open = true;
    });
    work();
    opener.join();
    core::synchronize_stream(stream);
  }
};

TEST_P(OrderTest, ZeroingWaitsForTheStream) {
  at::Tensor x = sevens(0);
  while_ones_are_to_come(x, [&] { x.zero_(); });
  EXPECT_TRUE(x.cpu().equal(at::zeros({GetParam()})));
}

TEST_P(OrderTest, FillingWaitsForTheStream) {
  at::Tensor x = sevens(0);
  while_ones_are_to_come(x, [&] { x.fill_(3); });
  EXPECT_TRUE(x.cpu().equal(at::full({GetParam()}, 3.0)));
}

// Of another dtype, so that no stream copies the bytes.
TEST_P(OrderTest, AConvertingCopyWaitsForTheStreamsOfBothDevices) {
  at::Tensor target = at::zeros({GetParam()}, at::TensorOptions(at::kDouble).device(device(0)));
  at::Tensor source = sevens(1);
  while_ones_are_to_come(source, [&] { target.copy_(source); });
  EXPECT_TRUE(target.cpu().equal(at::ones({GetParam()}, at::kDouble)));
}

// Of other strides, so that no stream copies the bytes, and of one dtype, so that no alias is made.
TEST_P(OrderTest, ACopyWithGapsWaitsForTheStreamsOfBothDevices) {
  const at::Tensor twice = at::zeros({GetParam(), 1, 2}, at::TensorOptions().device(device(0)));
  at::Tensor source = sevens(1);
  while_ones_are_to_come(source,
                         [&] { twice.narrow(2, 0, 1).copy_(source.view({GetParam(), 1, 1})); });
  EXPECT_TRUE(twice.select(2, 0).cpu().equal(at::ones({GetParam(), 1})));
  EXPECT_TRUE(twice.select(2, 1).cpu().equal(at::zeros({GetParam(), 1})));
}

INSTANTIATE_TEST_SUITE_P(Sizes, OrderTest, ::testing::Values(few, some));

}  // namespace
}  // namespace outback::test
