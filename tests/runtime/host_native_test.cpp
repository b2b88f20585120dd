// Handles that the host runtime makes streams of, and those that it refuses; registered memory; and
// what it measures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "tests/runtime/gate.hpp"

namespace outback::host {
namespace {

using testing::AllOf;
using testing::HasSubstr;

template <class Error = invalid_argument, class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string text_of(const void* ptr) {
  std::ostringstream text;
  text << ptr;
  return text.str();
}

class HostNativeTest : public testing::Test {
 protected:
  ~HostNativeTest() override { gate_.open(); }

  host_runtime host_{{.devices = 2, .memory_size = 64 << 20}};
  gate gate_;
};

TEST_F(HostNativeTest, AWrapperGoesOnWhenTheOriginalWent) {
  const outback_stream s = host_.stream_create(0, 0);
  void* native = host_.native_stream(0, s);
  const outback_stream wrapper = host_.native_wrap_stream(0, native);
  unsigned char data[4] = {};
  gate_.close(s);
  host_.mem_fill(0, data, 1, "\1", 1, s);
  host_.stream_destroy(0, s);
  host_.mem_fill(0, data + 1, 1, "\1", 1, wrapper);
  EXPECT_FALSE(host_.stream_query(0, wrapper));
  EXPECT_EQ(data[0], 0);
  gate_.open();
  host_.stream_sync(0, wrapper);
  EXPECT_EQ(data[0] + data[1], 2);
  EXPECT_EQ(host_.native_stream(0, wrapper), native);
  const outback_stream again = host_.native_wrap_stream(0, native);  // its queue is still there
  gate closed;
  closed.close(again);  // its thread, too
  host_.mem_fill(0, data + 2, 1, "\1", 1, wrapper);
  host_.stream_destroy(0, wrapper);
  host_.stream_destroy(0, again);
  EXPECT_EQ(data[2], 0);
  closed.open();
  host_.device_sync(0);  // waits for what no handle is left of
  EXPECT_EQ(data[2], 1);
  EXPECT_NE(refusal([&] { host_.native_wrap_stream(0, native); }), "accepted");
}

TEST_F(HostNativeTest, TheDefaultStreamOutlivesItsWrappers) {
  const outback_stream wrapper = host_.native_wrap_stream(0, host_.native_stream(0, nullptr));
  gate_.close(wrapper);
  EXPECT_FALSE(host_.stream_query(0, nullptr));
  gate_.open();
  host_.stream_destroy(0, wrapper);
  // Were its thread told to end, it would be gone by one of these.
  std::string data(1 << 20, '\0');
  for (char round = 1; round < 100; ++round) {
    host_.mem_fill(0, data.data(), data.size(), &round, 1, nullptr);
    host_.stream_sync(0, nullptr);
    EXPECT_EQ(data.back(), round);
  }
}

TEST_F(HostNativeTest, OnlyHandlesOfTheDevicesStreamsAreWrapped) {
  const outback_stream s = host_.stream_create(0, 0);
  const outback_event e = host_.event_create(0, 0);
  for (void* wrong :
       {static_cast<void*>(nullptr), static_cast<void*>(this), reinterpret_cast<void*>(8),
        host_.native_device(0), host_.native_event(0, e), host_.native_stream(1, nullptr)}) {
    EXPECT_THAT(refusal([&] { host_.native_wrap_stream(0, wrong); }), HasSubstr("native.stream"));
  }
  void* native = host_.native_stream(0, s);
  EXPECT_NE(refusal([&] { host_.native_wrap_stream(1, native); }), "accepted");
  host_.stream_destroy(0, s);
  EXPECT_NE(refusal([&] { host_.native_wrap_stream(0, native); }), "accepted");
  EXPECT_NE(refusal([&] { host_.native_event(1, e); }), "accepted");
  host_.event_destroy(0, e);
}

TEST_F(HostNativeTest, ProtectedDevicesAreNoPeers) {
  host_runtime guarded({.devices = 2,
                        .memory_size = 1 << 20,
                        .host_addressable = false,
                        .addresses_host = false,
                        .protected_memory = true});
  EXPECT_TRUE(host_.peer_can_access(0, 1));
  EXPECT_FALSE(guarded.peer_can_access(0, 1));
  EXPECT_THAT(refusal<unsupported>([&] { guarded.peer_enable(0, 1); }),
              HasSubstr("OUTBACK_HOST_PROTECTED"));
  guarded.peer_disable(0, 1);
}

TEST_F(HostNativeTest, RegisteredMemoryMakesCopiesAsynchronous) {
  constexpr std::size_t big = 4 << 20;
  const auto host = std::make_unique<unsigned char[]>(big);
  void* data = host_.mem_alloc(0, big);
  std::memset(data, 5, big);
  const outback_stream s = host_.stream_create(0, 0);
  host_.host_register(host.get(), big);
  gate_.close(s);
  host_.mem_copy(host.get(), OUTBACK_HOST, data, 0, big, s);  // returns
  EXPECT_EQ(host[big - 1], 0);
  gate_.open();
  host_.stream_sync(0, s);
  EXPECT_EQ(host[big - 1], 5);
  host_.host_unregister(host.get());
}

TEST_F(HostNativeTest, RangesThatMeetAreBothNamed) {
  unsigned char host[1000];
  host_.host_register(host + 100, 200);
  EXPECT_THAT(refusal([&] { host_.host_register(host + 299, 50); }),
              AllOf(HasSubstr("50 bytes at " + text_of(host + 299)),
                    HasSubstr("200 bytes at " + text_of(host + 100)), HasSubstr("pinned")));
  EXPECT_NE(refusal([&] { host_.host_register(host, 1000); }), "accepted");
  EXPECT_NE(refusal([&] { host_.host_register(host, 101); }), "accepted");
  EXPECT_NE(refusal([&] { host_.host_register(host + 150, 1); }), "accepted");
  host_.host_register(host, 100);
  host_.host_register(host + 300, 700);
  EXPECT_THAT(refusal([&] { host_.host_unregister(host + 101); }),
              HasSubstr("200 bytes at " + text_of(host + 100)));
  for (const int at : {0, 100, 300}) host_.host_unregister(host + at);
  EXPECT_NE(refusal([&] { host_.host_unregister(host); }), "accepted");
  EXPECT_NE(refusal([&] { host_.host_register(host, SIZE_MAX); }), "accepted");

  auto* device = static_cast<unsigned char*>(host_.mem_alloc(1, 100));
  EXPECT_THAT(refusal([&] { host_.host_register(device + 99, 1); }),
              AllOf(HasSubstr("100 bytes at " + text_of(device)), HasSubstr("device 1")));
  auto* pinned = static_cast<unsigned char*>(host_.host_alloc(100));
  EXPECT_THAT(refusal([&] { host_.host_register(pinned, 100); }), HasSubstr("pinned already"));
  EXPECT_NE(refusal([&] { host_.host_unregister(pinned); }), "accepted");
  host_.host_register(host, 10);
  EXPECT_NE(refusal([&] { host_.host_free(host); }), "accepted");
  EXPECT_EQ(host_.host_info(host + 9).size, 10u);
}

TEST_F(HostNativeTest, MemoryUsedIsTheDevicesOwn) {
  void* data = host_.mem_alloc(0, 4096);
  EXPECT_EQ(host_.telemetry_read(0, OUTBACK_METRIC_MEMORY_USED), 4096);
  EXPECT_EQ(host_.telemetry_read(1, OUTBACK_METRIC_MEMORY_USED), 0);
  host_.mem_free(0, data);
  EXPECT_THAT(refusal<unsupported>([&] { host_.telemetry_read(0, 4711); }), HasSubstr("4711"));
  EXPECT_THAT(refusal<unsupported>([&] { host_.telemetry_read(0, OUTBACK_METRIC_CLOCK); }),
              HasSubstr("the host does not measure metric"));
}

// Reads until `good`, or for a minute.
int64_t utilization(host_runtime& host, const std::function<bool(int64_t)>& good) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (;;) {
    const int64_t percent = host.telemetry_read(0, OUTBACK_METRIC_UTILIZATION);
    if (good(percent) || std::chrono::steady_clock::now() > end) return percent;
  }
}

TEST_F(HostNativeTest, UtilizationIsTheTimeOfTheStreamsThreads) {
  const auto rests = [](int64_t percent) { return percent == 0; };
  const outback_stream s = host_.stream_create(0, 0);
  EXPECT_EQ(utilization(host_, rests), 0);  // though this thread is busy
  std::atomic<bool> enough{false};
  std::promise<void> ended;
  reinterpret_cast<stream*>(s)->enqueue([&] {
    while (!enough) {
    }
    ended.set_value();
  });
  const int64_t busy = utilization(host_, [](int64_t percent) { return percent > 0; });
  EXPECT_GT(busy, 0);
  EXPECT_LE(busy, 100);
  EXPECT_EQ(host_.telemetry_read(1, OUTBACK_METRIC_UTILIZATION), 0);
  gate_.close(s);
  enough = true;
  ended.get_future().wait();
  EXPECT_EQ(utilization(host_, rests), 0);  // its thread waits
}

TEST(BusyClockTest, ThreadsThatEndedCount) {
  constexpr auto work = std::chrono::milliseconds(5);
  busy_clock clock;
  std::chrono::nanoseconds during{0};
  for (int times = 1; times <= 2; ++times) {
    std::thread([&] {
      const busy_clock::counted_thread measured(clock);
      const auto before = clock.total();
      while (clock.total() - before < work) {
      }
      during = clock.total();
    }).join();
    EXPECT_GE(during, times * work);
    EXPECT_GE(clock.total(), during);
  }
  EXPECT_EQ(clock.total(), clock.total());
}

}  // namespace
}  // namespace outback::host
