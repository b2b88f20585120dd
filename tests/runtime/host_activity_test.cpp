// The host runtime's records: of work that is put on a stream past the slots, of launches, in a
// forked child, and of more work than is kept.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <iterator>
#include <vector>

#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {
namespace {

using ::testing::ElementsAre;
using ::testing::StrEq;

class HostActivityTest : public testing::Test {
 protected:
  std::vector<outback_record> read(uint64_t* lost = nullptr) {
    std::vector<outback_record> all;
    for (;;) {
      const outback_records some = host_.activity_read(0);
      if (lost != nullptr) *lost += some.lost;
      all.insert(all.end(), some.list, some.list + some.count);
      if (some.count < std::size(some.list)) return all;
    }
  }
  void fill(outback_stream where = nullptr) {
    const char pattern = 1;
    host_.mem_fill(0, memory_, size, &pattern, 1, where);
  }

  static constexpr std::size_t size = 64;
  host_runtime host_;
  void* const memory_ = host_.mem_alloc(0, size);
};

// As a vendor's kernel does that takes the stream's native handle.
TEST_F(HostActivityTest, WhatIsPutOnTheNativeStreamIsRecorded) {
  const outback_stream s = host_.stream_create(0, 0);
  auto& native = *static_cast<stream*>(host_.native_stream(0, s));
  host_.activity_start(0);
  host_.activity_push(3);
  native.enqueue([] {}, runner::its_thread, {.kind = OUTBACK_RECORD_KERNEL, .name = "vendors"});
  host_.activity_pop();
  native.enqueue([] {});
  host_.stream_sync(0, s);
  const auto all = read();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_THAT(all[0].name, StrEq("vendors"));
  EXPECT_EQ(all[1].name, nullptr);
  for (const outback_record& each : all) {
    EXPECT_EQ(each.kind, OUTBACK_RECORD_KERNEL);
    EXPECT_EQ(each.stream, host_.activity_stream(0, s));
  }
  EXPECT_EQ(all[0].correlation, 3u);
  EXPECT_EQ(all[1].correlation, 0u);
}

TEST_F(HostActivityTest, AWrappedStreamHasTheNumberOfWhatItWraps) {
  const outback_stream s = host_.stream_create(0, 0);
  const outback_stream wrapped = host_.native_wrap_stream(0, host_.native_stream(0, s));
  EXPECT_EQ(host_.activity_stream(0, wrapped), host_.activity_stream(0, s));
}

TEST_F(HostActivityTest, EventsAndWaitsAreNoWork) {
  const outback_stream s = host_.stream_create(0, 0);
  const outback_event e = host_.event_create(0, 0);
  host_.activity_start(0);
  host_.event_record(0, e, nullptr);
  host_.event_wait(0, e, s);
  host_.event_record(0, e, s);
  host_.device_sync(0);
  EXPECT_TRUE(read().empty());
  host_.event_destroy(0, e);
}

TEST_F(HostActivityTest, ALaunchIsRecordedAndWhatIsInIt) {
  const outback_stream s = host_.stream_create(0, 0);
  host_.graph_begin(0, s);
  fill(s);
  host_.callback_enqueue(0, [](void*) {}, nullptr, s);
  const outback_graph graph = host_.graph_end(0, s);
  host_.graph_instantiate(0, graph);
  host_.activity_start(0);
  host_.graph_launch(0, graph, s);
  host_.stream_sync(0, s);
  const auto all = read();
  std::vector<outback_record_kind> kinds;
  for (const outback_record& each : all) kinds.push_back(each.kind);
  ASSERT_THAT(kinds,
              ElementsAre(OUTBACK_RECORD_FILL, OUTBACK_RECORD_CALLBACK, OUTBACK_RECORD_GRAPH));
  EXPECT_EQ(all[0].flags, OUTBACK_RECORD_IN_GRAPH);
  EXPECT_EQ(all[2].flags, 0u);
  EXPECT_LE(all[2].begin, all[0].begin);
  EXPECT_LE(all[1].end, all[2].end);
  host_.graph_destroy(0, graph);
}

TEST_F(HostActivityTest, WhatIsNotReadInTimeIsCounted) {
  host_.activity_start(0);
  for (std::size_t i = 0; i < activity_log::room + 3; ++i) fill();
  uint64_t lost = 0;
  EXPECT_EQ(read(&lost).size(), activity_log::room);
  EXPECT_EQ(lost, 3u);
  fill();
  lost = 0;
  EXPECT_EQ(read(&lost).size(), 1u);
  EXPECT_EQ(lost, 0u);
}

TEST_F(HostActivityTest, WorkOfAnEarlierRecordingIsNotInTheNextOne) {
  const outback_stream s = host_.stream_create(0, 0);
  auto& native = *static_cast<stream*>(host_.native_stream(0, s));
  std::atomic<bool> go{false};
  host_.activity_start(0);
  native.enqueue([&] { go.wait(false); });
  host_.activity_stop(0);
  host_.activity_start(0);
  go = true;
  go.notify_all();
  host_.stream_sync(0, s);
  EXPECT_TRUE(read().empty());
}

// A child has nothing of its parent's recording, and may begin one.
TEST_F(HostActivityTest, AForkedChildRecordsForItself) {
  host_.activity_start(0);
  fill();
  const pid_t child = fork();
  if (child == 0) {
    fill();
    bool is_right = read().empty();
    host_.activity_start(0);
    fill();
    is_right = is_right && read().size() == 1;
    host_.activity_stop(0);
    _exit(is_right ? 0 : 1);
  }
  int ended = -1;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_EQ(ended, 0);
  fill();
  EXPECT_EQ(read().size(), 2u);
}

}  // namespace
}  // namespace outback::host
