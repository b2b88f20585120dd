// Captures of the host runtime that end in another way than the contract's.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <future>
#include <memory>
#include <vector>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "tests/runtime/gate.hpp"

namespace outback::host {
namespace {

class HostGraphsTest : public testing::Test {
 protected:
  void fill(unsigned char value, outback_stream s) {
    host_.mem_fill(0, data_.data(), data_.size(), &value, 1, s);
  }

  host_runtime host_{{.devices = 1, .memory_size = 1 << 20}};
  std::vector<unsigned char> data_ = std::vector<unsigned char>(64, 0);
  gate gate_;
  const outback_stream s_ = host_.stream_create(0, 0), t_ = host_.stream_create(0, 0);
  const outback_event e_ = host_.event_create(0, 0);

  ~HostGraphsTest() override {
    gate_.open();
    host_.event_destroy(0, e_);
  }
};

TEST_F(HostGraphsTest, DestroyingTheFirstStreamEndsTheCapture) {
  host_.graph_begin(0, s_);
  host_.event_record(0, e_, s_);
  host_.event_wait(0, e_, t_);
  host_.stream_destroy(0, s_);
  EXPECT_EQ(host_.graph_status(0, t_), OUTBACK_CAPTURE_NONE);
  EXPECT_THROW(host_.event_wait(0, e_, t_), invalid_argument);
  fill(1, t_);
  host_.device_sync(0);
  EXPECT_EQ(data_[63], 1);
}

TEST_F(HostGraphsTest, DestroyingAnotherStreamBreaksTheCapture) {
  host_.graph_begin(0, s_);
  host_.event_record(0, e_, s_);
  host_.event_wait(0, e_, t_);
  host_.stream_destroy(0, t_);
  EXPECT_EQ(host_.graph_status(0, s_), OUTBACK_CAPTURE_BROKEN);
  EXPECT_THROW(host_.graph_end(0, s_), invalid_argument);
  host_.device_sync(0);
}

TEST_F(HostGraphsTest, TheRuntimeGoesDuringACapture) {
  auto other = std::make_unique<host_runtime>(host_options{.devices = 1, .memory_size = 1 << 20});
  const outback_stream s = other->stream_create(0, 0);
  for (const outback_stream each : {s, outback_stream(nullptr)}) other->graph_begin(0, each);
  other->mem_fill(0, data_.data(), data_.size(), "\1", 1, s);
  other.reset();
  EXPECT_EQ(data_[0], 0);
}

// The stream has work left from before, which neither the capture nor its end touches.
TEST_F(HostGraphsTest, ACaptureDoesNotWaitForTheStream) {
  gate_.close(s_);
  fill(1, s_);
  host_.graph_begin(0, s_);
  fill(2, s_);
  const outback_graph g = host_.graph_end(0, s_);
  EXPECT_EQ(data_[0], 0);
  EXPECT_FALSE(host_.stream_query(0, s_));
  host_.graph_instantiate(0, g);
  host_.graph_launch(0, g, s_);
  host_.graph_destroy(0, g);
  gate_.open();
  host_.stream_sync(0, s_);
  EXPECT_EQ(data_[0], 2);
}

TEST_F(HostGraphsTest, ASecondLaunchWaitsForTheFirst) {
  host_.graph_begin(0, s_);
  fill(1, s_);
  const outback_graph g = host_.graph_end(0, s_);
  host_.graph_instantiate(0, g);
  gate_.close(s_);
  host_.graph_launch(0, g, s_);
  host_.graph_launch(0, g, t_);
  auto second = std::async(std::launch::async, [&] { host_.stream_sync(0, t_); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  EXPECT_EQ(data_[0], 0);
  gate_.open();
  second.get();
  EXPECT_EQ(data_[0], 1);
  host_.graph_destroy(0, g);
}

TEST_F(HostGraphsTest, TheTextNamesWhatBrokeTheCapture) {
  host_.graph_begin(0, s_);
  EXPECT_THROW(host_.mem_copy(data_.data(), 0, "x", OUTBACK_HOST, 1, s_), invalid_argument);
  EXPECT_THROW(host_.stream_sync(0, s_), invalid_argument);
  try {
    host_.graph_end(0, s_);
    ADD_FAILURE() << "a broken capture became a graph";
  } catch (const invalid_argument& error) {
    EXPECT_NE(std::strstr(error.what(), "pageable host memory"), nullptr) << error.what();
  }
}

}  // namespace
}  // namespace outback::host
