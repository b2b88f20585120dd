// What core offers on a runtime that has the eight required slots and nothing else.
#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <torch/csrc/profiler/stubs/base.h>

#include "backend_template/core/devices/peer.h"
#include "backend_template/core/devices/telemetry.h"
#include "backend_template/core/graphs/device_graph.h"
#include "backend_template/core/interfaces/driver_ranges.h"
#include "backend_template/core/memory/ipc.h"
#include "backend_template/core/memory/shared_memory.h"
#include "backend_template/core/streams/event.h"
#include "backend_template/core/streams/host_callback.h"
#include "backend_template/core/streams/native.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/runtimes/null/null.h"
#include "outback/backend.h"

namespace outback::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class AbsentGroupTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    register_backend({.name = "acme", .runtime = outback_null_runtime()});
  }
};

auto refuses(const char* group) {
  return ThrowsMessage<c10::NotImplementedError>(
      HasSubstr(std::string("this device's runtime has no group ") + group));
}

TEST_F(AbsentGroupTest, WhatCannotBeHadNamesTheGroup) {
  EXPECT_THAT([] { core::native_device(0); }, refuses("native"));
  EXPECT_THAT([] { core::native_context(0); }, refuses("native"));
  EXPECT_THAT([] { core::native_stream(core::default_stream(0)); }, refuses("native"));
  EXPECT_THAT([] { core::wrap_native_stream(0, nullptr); }, refuses("native"));
  EXPECT_THAT([] { core::read_telemetry(0, OUTBACK_METRIC_CLOCK); }, refuses("telemetry"));
  EXPECT_THAT([] { core::read_processes(0); }, refuses("telemetry"));
  EXPECT_THAT([] { core::begin_driver_ranges(/*operators=*/false); }, refuses("ranges"));
  EXPECT_THAT([] { core::ipc_handle_of(core::event()); }, refuses("ipc"));
  EXPECT_THAT([] { core::open_ipc_event(0, {}); }, refuses("ipc"));
  EXPECT_FALSE(core::shares_memory(0));
  EXPECT_THAT([] { core::device_graph(/*keep_graph=*/false).capture_begin(); }, refuses("graphs"));
}

TEST_F(AbsentGroupTest, ProfilersMayMarkWhatNoToolSees) {
  const auto& stubs = *torch::profiler::impl::privateuse1Stubs();
  EXPECT_NO_THROW(stubs.rangePush("step"));
  EXPECT_NO_THROW(stubs.mark("here"));
  EXPECT_NO_THROW(stubs.rangePop());
}

TEST_F(AbsentGroupTest, ThereAreNoPeers) {
  EXPECT_FALSE(core::can_access_peer(0, 0));
}

TEST_F(AbsentGroupTest, NothingIsEverCaptured) {
  EXPECT_EQ(core::capture_status(core::default_stream(0)), OUTBACK_CAPTURE_NONE);
}

TEST_F(AbsentGroupTest, ACallbackRunsAtOnce) {
  bool ran = false;
  core::enqueue_host_callback(core::default_stream(0), [&ran] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace outback::test
