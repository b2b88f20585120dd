// What an event is made with, on its way through c10; and events that two processes share.
#include "backend_template/core/streams/event.h"

#include <c10/core/Event.h>
#include <c10/util/Exception.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

#include "backend_template/core/interfaces/guard.h"
#include "backend_template/core/memory/ipc.h"
#include "backend_template/core/runtime/descriptor.h"
#include "backend_template/core/streams/event_flag.h"
#include "backend_template/core/streams/stream.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

class EventTest : public BackendTest {};

TEST_F(EventTest, FlagsSurviveC10) {
  for (uint32_t flags = 0; flags < 8; ++flags) {
    EXPECT_EQ(core::event_flags_in(core::event_flag_of(flags)), flags);
  }
  EXPECT_EQ(core::event_flag_of(0), c10::EventFlag::PYTORCH_DEFAULT);
  EXPECT_EQ(core::event_flag_of(OUTBACK_EVENT_TIMING), c10::EventFlag::BACKEND_DEFAULT);
  EXPECT_EQ(core::event_flags_in(c10::EventFlag::INVALID), 0u);
}

TEST_F(EventTest, WhatItWasMadeWithReachesTheRuntime) {
  const uint32_t both = OUTBACK_EVENT_TIMING | OUTBACK_EVENT_BLOCKING;
  c10::Event begin(core::device_type, core::event_flag_of(both));
  c10::Event end(core::device_type, core::event_flag_of(both));
  EXPECT_EQ(core::event_in(begin), nullptr);
  begin.record(core::default_stream(0));
  end.record(core::default_stream(0));
  end.synchronize();
  EXPECT_GE(core::event_in(begin)->elapsed_ns(*core::event_in(end)), 0) << "it has a clock";
}

TEST_F(EventTest, AnAdoptedEventWasNotRecorded) {
  core::event made(OUTBACK_EVENT_BLOCKING);
  made.create(1);
  const outback_event handle = made.handle();
  c10::Event holder = core::adopt_event(std::move(made), OUTBACK_EVENT_BLOCKING);
  EXPECT_EQ(core::event_in(holder)->handle(), handle);
  EXPECT_EQ(holder.device_index(), 1);
  EXPECT_TRUE(holder.query());
  // The next event is one of its own again.
  c10::Event other(core::device_type, c10::EventFlag::PYTORCH_DEFAULT);
  other.record(core::default_stream(0));
  EXPECT_NE(core::event_in(other)->handle(), handle);
  holder.record(core::default_stream(1));
  EXPECT_EQ(core::event_in(holder)->handle(), handle);
  holder.synchronize();
}

TEST_F(EventTest, AnEventForOtherProcessesHasAHandle) {
  core::event shared(OUTBACK_EVENT_INTERPROCESS);
  shared.create(0);
  const outback_ipc_handle handle = core::ipc_handle_of(shared);
  EXPECT_GT(handle.size + (handle.fd >= 0 ? 1u : 0u), 0u);
  EXPECT_EQ(core::ipc_handle_of(shared).fd, handle.fd) << "made once";
}

TEST_F(EventTest, TheDescriptorOfAHandleLivesAsLongAsTheEvent) {
  core::event shared(OUTBACK_EVENT_INTERPROCESS);
  shared.create(0);
  const int fd = core::ipc_handle_of(shared).fd;
  ASSERT_GE(fd, 0) << "the host runtime's handles have one";
  const core::descriptor_place place = core::place_of(fd);
  core::event moved = std::move(shared);
  EXPECT_GE(core::take_from(place).get(), 0);
  moved = core::event();
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
  EXPECT_THROW(core::take_from(place), c10::ValueError);
}

TEST_F(EventTest, OnlyAnEventThatWasMadeForItHasOne) {
  core::event plain;
  plain.create(0);
  EXPECT_THROW(core::ipc_handle_of(plain), c10::Error);
}

TEST_F(EventTest, AHandleThatNobodyMadeIsRefused) {
  outback_ipc_handle handle{};
  handle.struct_size = sizeof handle;
  handle.fd = -1;
  EXPECT_THROW(core::open_ipc_event(0, handle), c10::Error);
}

}  // namespace
}  // namespace outback::test
