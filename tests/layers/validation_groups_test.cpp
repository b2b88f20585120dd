// Peers, the driver's streams, callbacks, graphs and telemetry: what does not match is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/layers/validation_testing.hpp"

namespace outback::layers {
namespace {

class GroupsTest : public validation_test {
 protected:
  void SetUp() override { use(whole_table()); }
};

TEST_F(GroupsTest, APeerIsAnotherDevice) {
  expect_refused([&] { return t_.peer->enable(self_, 1, 1); },
                 "peer.enable: peer is 1: expected another device than `device`");
  expect_refused([&] { return t_.peer->disable(self_, 0, 0); },
                 "peer.disable: peer is 0: expected another device than `device`");
  expect_refused([&] { return t_.peer->enable(self_, 0, 2); },
                 "peer.enable: peer is 2: expected a device from 0 to 1");
  int32_t can = -7;
  expect_refused([&] { return t_.peer->can_access(self_, 0, -1, &can); },
                 "peer.can_access: peer is -1: expected a device from 0 to 1");
  EXPECT_TRUE(ok(t_.peer->can_access(self_, 1, 1, &can)));
  EXPECT_EQ(can, 0);
  EXPECT_TRUE(ok(t_.peer->enable(self_, 0, 1)));
  EXPECT_TRUE(ok(t_.peer->disable(self_, 0, 1)));
}

TEST_F(GroupsTest, AWrappedStreamIsAStream) {
  outback_stream s = nullptr;
  ASSERT_TRUE(ok(t_.native->wrap_stream(self_, 1, this, &s)));
  EXPECT_TRUE(ok(t_.streams->sync(self_, 1, s)));
  EXPECT_TRUE(ok(fill(1, memory(1), 64, 1, s)));
  expect_refused([&] { return t_.streams->sync(self_, 0, s); },
                 "streams.sync: stream is " + at(s) +
                     ": expected one of the streams that this runtime made for device 0; it is "
                     "one of device 1");
  outback_stream own = stream(1);
  EXPECT_THAT(leaks(table_),
              testing::HasSubstr("  1 stream of device 1:\n    " + at(own) +
                                 ", object 3\n  1 wrapped stream of device 1:\n    " + at(s) +
                                 ", object 1\n"));
  EXPECT_TRUE(ok(t_.streams->destroy(self_, 1, s)));
  expect_refused([&] { return t_.streams->destroy(self_, 1, s); },
                 "streams.destroy: stream is " + at(s) +
                     ": expected one of the streams that this runtime made for device 1; it was "
                     "destroyed already");
}

// It stays, so that no other test's stream has its address.
TEST_F(GroupsTest, AStreamThatIsKeptIsNoLeak) {
  keep_until_exit(stream(0));
  EXPECT_EQ(leaks(table_), "");
  outback_stream forgotten = stream(0);
  EXPECT_THAT(leaks(table_), testing::HasSubstr("  1 stream of device 0:\n    " + at(forgotten)));
}

TEST_F(GroupsTest, TheDriversObjectsAreOfLivingOnes) {
  void* handle = nullptr;
  outback_stream s = stream();
  outback_event e = event();
  EXPECT_TRUE(ok(t_.native->stream(self_, 0, nullptr, &handle)));
  EXPECT_TRUE(ok(t_.native->stream(self_, 0, s, &handle)));
  EXPECT_TRUE(ok(t_.native->event(self_, 0, e, &handle)));
  ASSERT_TRUE(ok(t_.streams->destroy(self_, 0, s)));
  ASSERT_TRUE(ok(t_.events->destroy(self_, 0, e)));
  expect_refused([&] { return t_.native->stream(self_, 0, s, &handle); },
                 "native.stream: stream is " + at(s) +
                     ": expected one of the streams that this runtime made for device 0; it was "
                     "destroyed already");
  expect_refused([&] { return t_.native->event(self_, 0, e, &handle); },
                 "native.event: event is " + at(e) +
                     ": expected one of the events that this runtime made for device 0; it was "
                     "destroyed already");
}

TEST_F(GroupsTest, ACallbackIsAFunction) {
  expect_refused([&] { return t_.callbacks->enqueue(self_, 0, nullptr, this, nullptr); },
                 "callbacks.enqueue: callback is null: expected a pointer");
  int called = 0;
  const auto call = [](void* data) { ++*static_cast<int*>(data); };
  EXPECT_TRUE(ok(t_.callbacks->enqueue(self_, 0, call, &called, nullptr)));
  EXPECT_EQ(called, 1);
}

TEST_F(GroupsTest, TelemetryIsOfADevice) {
  int64_t value = 0;
  expect_refused([&] { return t_.telemetry->read(self_, 2, 3, &value); },
                 "telemetry.read: device is 2: expected a device from 0 to 1");
  expect_refused([&] { return t_.telemetry->read(self_, 0, 3, nullptr); },
                 "telemetry.read: value is null: expected a place for the result");
  EXPECT_EQ(t_.telemetry->read(self_, 0, 99, &value), OUTBACK_UNSUPPORTED) << "the runtime's";
}

TEST_F(GroupsTest, RecordsAreReadIntoAWholeStruct) {
  outback_records records = {};
  records.struct_size = sizeof(records) - 1;
  expect_refused([&] { return t_.activity->read(self_, 0, &records); },
                 "activity.read: records->struct_size is 16399: expected the size of the whole "
                 "struct, 16400");
  records.struct_size = sizeof(records);
  EXPECT_TRUE(ok(t_.activity->start(self_, 0)));
  EXPECT_TRUE(ok(t_.activity->read(self_, 0, &records)));
  EXPECT_TRUE(ok(t_.activity->stop(self_, 0)));
}

// ---- Graphs

class GraphsTest : public GroupsTest {
 protected:
  outback_status begin(outback_stream s) { return t_.graphs->begin(self_, 0, s); }
  outback_status end(outback_stream s, outback_graph* g) { return t_.graphs->end(self_, 0, s, g); }
  outback_graph graph(outback_stream s = nullptr) {
    outback_graph made = nullptr;
    EXPECT_TRUE(ok(begin(s)));
    EXPECT_TRUE(ok(end(s, &made)));
    return made;
  }
  outback_status instantiate(outback_graph g) { return t_.graphs->instantiate(self_, 0, g); }
  outback_status launch(outback_graph g) { return t_.graphs->launch(self_, 0, g, nullptr); }
};

TEST_F(GraphsTest, BeginOnceAndEndThere) {
  outback_stream s = stream(), other = stream();
  outback_graph g = nullptr;
  const std::string nowhere =
      ": expected a stream on which a capture began; none did, or it ended already";
  expect_refused([&] { return end(s, &g); }, "graphs.end: stream is " + at(s) + nowhere);
  ASSERT_TRUE(ok(begin(s)));
  expect_refused([&] { return begin(s); },
                 "graphs.begin: stream is " + at(s) +
                     ": expected a stream that is in no capture; one began on it (object 3)");
  expect_refused([&] { return end(other, &g); }, "graphs.end: stream is " + at(other) + nowhere);
  expect_refused([&] { return end(nullptr, &g); }, "graphs.end: stream is null" + nowhere);
  EXPECT_THAT(leaks(table_),
              testing::HasSubstr("  1 capture of device 0:\n    " + at(s) + ", object 3\n"));
  ASSERT_TRUE(ok(end(s, &g)));
  expect_refused([&] { return end(s, &g); }, "graphs.end: stream is " + at(s) + nowhere);
  EXPECT_TRUE(ok(begin(s))) << "a second capture";
  EXPECT_TRUE(ok(begin(nullptr))) << "the default stream's own";
  EXPECT_TRUE(ok(t_.graphs->begin(self_, 1, nullptr))) << "that of another device";
}

TEST_F(GraphsTest, ACaptureEndsAlsoWhereEndFails) {
  outback_graph g = nullptr;
  ASSERT_TRUE(ok(begin(nullptr)));
  EXPECT_EQ(t_.streams->sync(self_, 0, nullptr), OUTBACK_INVALID_ARGUMENT) << "which breaks it";
  outback_capture capture = -7;
  EXPECT_TRUE(ok(t_.graphs->status(self_, 0, nullptr, &capture)));
  EXPECT_EQ(capture, OUTBACK_CAPTURE_BROKEN) << "validation did not keep it from the runtime";
  EXPECT_EQ(end(nullptr, &g), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(g, nullptr);
  EXPECT_TRUE(ok(begin(nullptr)));
  set_faults(injected_, {{.slot = "graphs.end", .status = OUTBACK_OUT_OF_MEMORY}});
  EXPECT_EQ(end(nullptr, &g), OUTBACK_OUT_OF_MEMORY);
  EXPECT_TRUE(ok(t_.graphs->status(self_, 0, nullptr, &capture)));
  EXPECT_EQ(capture, OUTBACK_CAPTURE_NONE) << "an injected fault ends it too";
  EXPECT_EQ(leaks(table_), "");
}

TEST_F(GraphsTest, NoStreamOfACaptureGoes) {
  outback_stream s = stream(), joined = stream();
  outback_event e = event();
  ASSERT_TRUE(ok(begin(s)));
  ASSERT_TRUE(ok(t_.events->record(self_, 0, e, s)));
  ASSERT_TRUE(ok(t_.events->wait(self_, 0, e, joined)));
  for (outback_stream each : {s, joined}) {
    expect_refused([&] { return t_.streams->destroy(self_, 0, each); },
                   "streams.destroy: stream is " + at(each) +
                       ": expected a stream that is in no capture; end the capture first");
  }
  outback_graph g = nullptr;
  EXPECT_EQ(end(s, &g), OUTBACK_INVALID_ARGUMENT) << "one was not joined";
  for (outback_stream each : {s, joined}) EXPECT_TRUE(ok(t_.streams->destroy(self_, 0, each)));
  EXPECT_TRUE(ok(t_.events->destroy(self_, 0, e)));
  EXPECT_EQ(leaks(table_), "");
}

TEST_F(GraphsTest, ALostDeviceIsAskedNothing) {
  static const outback_runtime& runtime = *whole_table();
  static int asked = 0;
  open_table counting(runtime);
  counting.graphs.status = [](void* self, int32_t device, outback_stream s,
                              outback_capture* capture) -> outback_status {
    return ++asked, runtime.graphs->status(self, device, s, capture);
  };
  counting.runtime.device_info = [](void* self, int32_t device,
                                    outback_device_info* info) -> outback_status {
    return ++asked, runtime.device_info(self, device, info);
  };
  use(&counting.runtime);
  outback_stream s = stream();
  set_faults(injected_, {{.slot = "device_sync", .status = OUTBACK_DEVICE_LOST}});
  EXPECT_EQ(t_.device_sync(self_, 0), OUTBACK_DEVICE_LOST);
  const std::string why =
      "device 0 is lost since device_sync: injected fault: device_sync, call 1: device_lost";
  asked = 0;
  expect_refused([&] { return t_.streams->destroy(self_, 0, s); }, why, OUTBACK_DEVICE_LOST);
  expect_refused([&] { return fill(0, this, 8); }, why, OUTBACK_DEVICE_LOST);
  EXPECT_EQ(asked, 0);
}

TEST_F(GraphsTest, IsInstantiatedOnceAndThenLaunched) {
  outback_graph g = graph();
  expect_refused([&] { return launch(g); },
                 "graphs.launch: graph is " + at(g) +
                     ": expected one that was instantiated; this one was not (object 2)");
  set_faults(injected_, {{.every = 1, .status = OUTBACK_OUT_OF_MEMORY}});
  EXPECT_EQ(instantiate(g), OUTBACK_OUT_OF_MEMORY) << "which does not count";
  set_faults(injected_, {});
  EXPECT_EQ(launch(g), OUTBACK_INVALID_ARGUMENT);
  EXPECT_TRUE(ok(instantiate(g)));
  expect_refused([&] { return instantiate(g); },
                 "graphs.instantiate: graph is " + at(g) +
                     ": expected one that was not instantiated; this one was (object 2)");
  EXPECT_TRUE(ok(launch(g)));
  EXPECT_TRUE(ok(launch(g)));
}

TEST_F(GraphsTest, IsNotUsedAfterItWasDestroyed) {
  outback_graph g = graph(), other = graph();
  EXPECT_EQ(leaks(table_), "outback: never freed or destroyed:\n  2 graphs of device 0:\n    " +
                               at(g) + ", object 2\n    " + at(other) + ", object 4\n");
  ASSERT_TRUE(ok(instantiate(g)));
  ASSERT_TRUE(ok(t_.graphs->destroy(self_, 0, g)));
  const std::string gone =
      ": expected one of the graphs that this runtime made for device 0; it was destroyed already";
  expect_refused([&] { return launch(g); }, "graphs.launch: graph is " + at(g) + gone);
  expect_refused([&] { return instantiate(g); }, "graphs.instantiate: graph is " + at(g) + gone);
  expect_refused([&] { return t_.graphs->destroy(self_, 0, g); },
                 "graphs.destroy: graph is " + at(g) + gone);
  expect_refused([&] { return t_.graphs->launch(self_, 1, other, nullptr); },
                 "graphs.launch: graph is " + at(other) +
                     ": expected one of the graphs that this runtime made for device 1; it is one "
                     "of device 0");
  EXPECT_TRUE(ok(t_.graphs->destroy(self_, 0, other)));
  EXPECT_EQ(leaks(table_), "");
}

}  // namespace
}  // namespace outback::layers
