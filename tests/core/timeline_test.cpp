// The timeline by the driver's records: work that was launched past the backend, what is in a
// launch, and how records and calls find each other.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/streams/native.h"
#include "backend_template/core/streams/stream.h"
#include "backend_template/core/timeline/device_clock.h"
#include "backend_template/core/timeline/driver_records.h"
#include "backend_template/core/timeline/timeline.h"
#include "tests/core/test_backend.h"

namespace outback::test {
namespace {

using core::asked_work;
using core::recorded_work;
using core::work;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StrEq;

class TimelineTest : public BackendTest {
 protected:
  void SetUp() override { core::ensure_started(); }

  static std::vector<recorded_work> on_device(const core::timeline& all) {
    std::vector<recorded_work> found;
    std::copy_if(all.all.begin(), all.all.end(), std::back_inserter(found),
                 [](const recorded_work& each) { return each.device_begin != 0; });
    return found;
  }
  // As a vendor's kernel that gets the handle of Stream.native_handle.
  static void launch_natively(const c10::Stream& on, const char* name) {
    static_cast<host::stream*>(core::native_stream(on))
        ->enqueue([] {}, host::runner::its_thread, {.kind = OUTBACK_RECORD_KERNEL, .name = name});
  }
};

TEST_F(TimelineTest, AKernelThatIsLaunchedPastTheBackendIsSeen) {
  const c10::Stream stream = core::new_stream(0, 0);
  const uint64_t profile = core::start_recording();
  ASSERT_NE(profile, 0u);
  const int64_t before = core::host_now();
  launch_natively(stream, "vendors_kernel");
  core::synchronize_stream(stream);
  const int64_t after = core::host_now();
  const auto all = on_device(core::stop_recording(profile, core::known_streams));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, work::kernel);
  EXPECT_THAT(all[0].name, StrEq("vendors_kernel"));
  EXPECT_EQ(all[0].stream, stream.id());
  EXPECT_EQ(all[0].host_begin, 0) << "nobody called the backend";
  constexpr int64_t slack = 1'000'000;  // ns: two clocks
  EXPECT_GE(all[0].device_begin, before - slack);
  EXPECT_LE(all[0].device_end, after + slack);
}

// It need not be waited for: the end of the profile does.
TEST_F(TimelineTest, TheEndOfAProfileWaitsForWorkThatNobodyCalledFor) {
  const c10::Stream stream = core::new_stream(0, 0);
  const uint64_t profile = core::start_recording();
  for (int i = 0; i < 100; ++i) launch_natively(stream, "one");
  EXPECT_EQ(on_device(core::stop_recording(profile, core::known_streams)).size(), 100u);
}

TEST_F(TimelineTest, ARecordingThatWasAbandonedDoesNotStopTheNext) {
  core::abandon_recording(core::start_recording());
  const c10::Stream stream = core::default_stream(0);
  const uint64_t profile = core::start_recording();
  launch_natively(stream, "one");
  const core::timeline all = core::stop_recording(profile, core::known_streams);
  EXPECT_EQ(on_device(all).size(), 1u);
  EXPECT_EQ(all.lost, 0u);
}

// ---- join

recorded_work call(work kind, int64_t host_begin = 50) {
  recorded_work made = {};
  made.kind = kind;
  made.stream = 7;
  made.in_operator = 11;
  made.in_range = 12;
  made.host_begin = host_begin;
  return made;
}

outback_record record(outback_record_kind kind, uint64_t number, int64_t begin, int64_t end,
                      uint32_t flags = 0, const char* name = nullptr) {
  outback_record made = {};
  made.kind = kind;
  made.correlation = number;
  made.stream = 3;
  made.begin = begin;
  made.end = end;
  made.flags = flags;
  made.name = name;
  return made;
}

core::joined_work joined(std::vector<asked_work> calls, std::vector<outback_record> records) {
  return core::join(0, std::move(calls), std::move(records),
                    [](uint64_t number) { return static_cast<c10::StreamId>(number); });
}

std::vector<work> kinds(const std::vector<recorded_work>& all) {
  std::vector<work> found;
  for (const recorded_work& each : all) found.push_back(each.kind);
  return found;
}

TEST(JoinedWork, ARecordFindsItsCallByTheNumber) {
  const auto all = joined(
      {{9, call(work::fill)}, {4, call(work::copy_within)}},
      {record(OUTBACK_RECORD_FILL, 9, 100, 110), record(OUTBACK_RECORD_COPY_WITHIN, 4, 90, 95)});
  EXPECT_THAT(kinds(all.told), ElementsAre(work::copy_within, work::fill));
  EXPECT_EQ(all.told[0].device_begin, 90);
  EXPECT_EQ(all.told[0].device_end, 95);
  EXPECT_EQ(all.told[0].stream, 7);
  EXPECT_EQ(all.told[0].host_begin, 50);
  EXPECT_THAT(all.untold, IsEmpty());
  EXPECT_EQ(all.lost, 0u);
}

TEST(JoinedWork, AKernelsFurtherRecordsAreOfItsOperatorWithoutACall) {
  const auto all =
      joined({{1, call(work::kernel)}}, {record(OUTBACK_RECORD_KERNEL, 1, 200, 210, 0, "second"),
                                         record(OUTBACK_RECORD_KERNEL, 1, 100, 110, 0, "first")});
  ASSERT_EQ(all.told.size(), 2u);
  EXPECT_THAT(all.told[0].name, StrEq("second"));
  EXPECT_EQ(all.told[0].host_begin, 0);
  EXPECT_EQ(all.told[0].in_operator, 11u);
  EXPECT_EQ(all.told[0].stream, 3);
  EXPECT_THAT(all.told[1].name, StrEq("first"));
  EXPECT_EQ(all.told[1].host_begin, 50);
}

TEST(JoinedWork, ARecordOfNoCallIsToldAlone) {
  const auto all = joined({}, {record(OUTBACK_RECORD_KERNEL, 0, 1, 2),
                               record(OUTBACK_RECORD_COPY_TO_HOST, 5, 3, 4), record(77, 0, 5, 6)});
  EXPECT_THAT(kinds(all.told), ElementsAre(work::kernel, work::copy_to_host, work::other));
  for (const recorded_work& each : all.told) {
    EXPECT_EQ(each.in_operator, 0u);
    EXPECT_EQ(each.stream, 3);
  }
}

TEST(JoinedWork, ALaunchIsARangeOverItsPieces) {
  const auto all = joined({{1, call(work::graph)}},
                          {record(OUTBACK_RECORD_FILL, 1, 100, 110, OUTBACK_RECORD_IN_GRAPH),
                           record(OUTBACK_RECORD_KERNEL, 1, 120, 130, OUTBACK_RECORD_IN_GRAPH)});
  EXPECT_THAT(kinds(all.told), ElementsAre(work::fill, work::kernel, work::graph_range));
  EXPECT_EQ(all.told[0].in_operator, 11u);
  EXPECT_EQ(all.told[2].device_begin, 100);
  EXPECT_EQ(all.told[2].device_end, 130);
}

TEST(JoinedWork, ALaunchWithoutPiecesIsOne) {
  const auto all = joined({{1, call(work::graph)}}, {record(OUTBACK_RECORD_GRAPH, 1, 100, 110)});
  EXPECT_THAT(kinds(all.told), ElementsAre(work::graph));
}

TEST(JoinedWork, WhatSurelyHadWorkAndHasNoRecordIsLost) {
  const auto all = joined({{1, call(work::fill)},
                           {2, call(work::kernel)},
                           {3, call(work::callback)},
                           {4, call(work::graph)}},
                          {});
  EXPECT_EQ(all.untold.size(), 4u);
  EXPECT_EQ(all.lost, 2u);
}

}  // namespace
}  // namespace outback::test
