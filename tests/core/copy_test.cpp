// Copies that do not wait: shown with a gate in the stream, which stays shut until they returned.
#include "backend_template/core/memory/copy.h"

#include <ATen/ATen.h>
#include <ATen/core/CachingHostAllocator.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "backend_template/core/memory/host_allocator.h"
#include "backend_template/core/streams/host_callback.h"
#include "backend_template/core/streams/stream.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

// Holds a stream up until it is opened, or until the test has failed by waiting for it.
class gate {
 public:
  explicit gate(const c10::Stream& stream) {
    core::enqueue_host_callback(stream, [state = state_] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (!state->open && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      state->passed_shut = !state->open;
    });
  }
  ~gate() { open(); }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

  void open() { state_->open = true; }
  // Somebody waited for the stream while the gate was shut.
  bool was_waited_for() const { return state_->passed_shut; }

 private:
  struct shared {
    std::atomic<bool> open{false};
    std::atomic<bool> passed_shut{false};
  };
  std::shared_ptr<shared> state_ = std::make_shared<shared>();
};

class CopyTest : public BackendTest, public ::testing::WithParamInterface<int64_t> {
 protected:
  void SetUp() override { core::exchange_stream(core::new_stream(0, 0)); }
  void TearDown() override { core::exchange_stream(core::default_stream(0)); }

  static c10::Stream stream() { return core::current_stream(0); }
  static at::Tensor pinned(float value) {
    return at::full({GetParam()}, value, at::TensorOptions().pinned_memory(true));
  }
  static at::Tensor on_device(float value) {
    at::Tensor made = at::full({GetParam()}, value, at::TensorOptions().device(device(0)));
    core::synchronize_device(0);
    return made;
  }
  static bool all_are(const at::Tensor& host, float value) {
    return at::equal(host, at::full_like(host, value));
  }
};

TEST_P(CopyTest, PinnedToDeviceReturnsBeforeItIsDone) {
  const at::Tensor source = pinned(3);
  at::Tensor target = on_device(0);
  gate shut(stream());
  target.copy_(source, /*non_blocking=*/true);
  EXPECT_FALSE(core::is_idle(stream()));
  EXPECT_FALSE(core::query_stream(stream()));
  shut.open();
  EXPECT_TRUE(all_are(target.cpu(), 3));
  EXPECT_FALSE(shut.was_waited_for());
}

TEST_P(CopyTest, DeviceToPinnedReturnsBeforeItIsDone) {
  const at::Tensor source = on_device(3);
  at::Tensor target = pinned(0);
  gate shut(stream());
  target.copy_(source, /*non_blocking=*/true);
  EXPECT_FALSE(core::query_stream(stream()));
  shut.open();
  core::synchronize_stream(stream());
  EXPECT_TRUE(all_are(target, 3));
  EXPECT_FALSE(shut.was_waited_for());
}

TEST_P(CopyTest, ToMakesATensorBeforeItIsFilled) {
  const at::Tensor source = pinned(3);
  gate shut(stream());
  const at::Tensor target = source.to(device(0), /*non_blocking=*/true);
  EXPECT_FALSE(core::query_stream(stream()));
  shut.open();
  EXPECT_TRUE(all_are(target.cpu(), 3));
  EXPECT_FALSE(shut.was_waited_for());
}

TEST_P(CopyTest, ToTheHostMakesAPinnedTensorThatIsFilledLater) {
  const at::Tensor source = on_device(3);
  gate shut(stream());
  const at::Tensor target = source.to(c10::kCPU, /*non_blocking=*/true);
  EXPECT_TRUE(target.is_pinned());
  EXPECT_FALSE(core::query_stream(stream()));
  shut.open();
  core::synchronize_stream(stream());
  EXPECT_TRUE(all_are(target, 3));
  EXPECT_FALSE(shut.was_waited_for());
}

TEST_P(CopyTest, ACopyThatBlocksWaitsForTheStream) {
  const at::Tensor source = pinned(3);
  at::Tensor target = on_device(0);
  auto shut = std::make_unique<gate>(stream());
  std::thread opener([&] { shut->open(); });
  target.copy_(source);
  EXPECT_TRUE(core::query_stream(stream()));
  opener.join();
}

TEST_P(CopyTest, PinnedMemoryIsNotHandedOutWhileACopyReadsIt) {
  at::Tensor source = pinned(3);
  const void* const first = source.data_ptr();
  at::Tensor target = on_device(0);
  gate shut(stream());
  target.copy_(source, /*non_blocking=*/true);
  source.reset();
  at::Tensor next = pinned(7);
  EXPECT_NE(next.data_ptr(), first) << "the copy has not read it yet";
  shut.open();
  EXPECT_TRUE(all_are(target.cpu(), 3));
  next.reset();
  EXPECT_FALSE(shut.was_waited_for());
}

TEST_P(CopyTest, AViewHoldsTheBlockThatItLiesIn) {
  at::Tensor whole = pinned(3);
  const void* const first = whole.data_ptr();
  at::Tensor source = whole.slice(0, GetParam() / 2);
  at::Tensor target = on_device(0).slice(0, GetParam() / 2);
  gate shut(stream());
  target.copy_(source, /*non_blocking=*/true);
  whole.reset();
  source.reset();
  EXPECT_NE(pinned(7).data_ptr(), first);
  shut.open();
  EXPECT_TRUE(all_are(target.cpu(), 3));
  EXPECT_FALSE(shut.was_waited_for());
}

TEST_P(CopyTest, APageableSourceMayBeReusedAtOnce) {
  at::Tensor source = at::full({GetParam()}, 3.0f);
  const at::Tensor target = source.to(device(0), /*non_blocking=*/true);
  source.fill_(7);
  EXPECT_TRUE(all_are(target.cpu(), 3));
}

TEST_P(CopyTest, BetweenDevicesReturnsBeforeItIsDone) {
  const at::Tensor source = on_device(3);
  gate shut(stream());
  const at::Tensor target = source.to(device(1), /*non_blocking=*/true);
  EXPECT_FALSE(core::query_stream(core::current_stream(1))) << "it waits for the source's stream";
  shut.open();
  EXPECT_TRUE(all_are(target.cpu(), 3));
  EXPECT_FALSE(shut.was_waited_for());
}

INSTANTIATE_TEST_SUITE_P(Sizes, CopyTest, ::testing::Values(2, 1 << 10, 1 << 20),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace outback::test
