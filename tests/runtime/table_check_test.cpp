// outback/table_check.hpp: which tables are refused, in which words, and what a copy of an older
// one says.
#include "outback/table_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class TableCheckTest : public testing::Test {
 protected:
  // A table with all groups, to take something from.
  outback_runtime table_ = *table_of(host_);
  outback_streams streams_ = *table_.streams;
  outback_events events_ = *table_.events;
  outback_host_memory host_memory_ = *table_.host_memory;
  outback_device_state device_state_ = *table_.device_state;

  void SetUp() override {
    table_.streams = &streams_;
    table_.events = &events_;
    table_.host_memory = &host_memory_;
    table_.device_state = &device_state_;
  }

  // The problem once `member` is null.
  template <class Member>
  std::string without(Member& member) {
    const Member kept = std::exchange(member, nullptr);
    std::string problem = table_problem(&table_);
    member = kept;
    return problem;
  }

 private:
  static host::host_runtime host_;
};

host::host_runtime TableCheckTest::host_({.devices = 1, .memory_size = 4096});

TEST_F(TableCheckTest, AWholeTableIsFine) {
  EXPECT_THAT(table_problem(&table_), IsEmpty());
}

TEST_F(TableCheckTest, NullIsRefused) {
  EXPECT_THAT(table_problem(nullptr), HasSubstr("table is null"));
}

TEST_F(TableCheckTest, EveryRequiredSlotIsNamed) {
  EXPECT_THAT(without(table_.last_error), HasSubstr("no last_error"));
  EXPECT_THAT(without(table_.device_count), HasSubstr("no device_count"));
  EXPECT_THAT(without(table_.device_info), HasSubstr("no device_info"));
  EXPECT_THAT(without(table_.device_sync), HasSubstr("no device_sync"));
  EXPECT_THAT(without(table_.mem_alloc), HasSubstr("no mem_alloc"));
  EXPECT_THAT(without(table_.mem_free), HasSubstr("no mem_free"));
  EXPECT_THAT(without(table_.mem_copy), HasSubstr("no mem_copy"));
  EXPECT_THAT(without(table_.mem_fill), HasSubstr("no mem_fill"));
}

TEST_F(TableCheckTest, EveryMemberOfAGroupIsNamed) {
  EXPECT_THAT(without(streams_.create), HasSubstr("streams has no create"));
  EXPECT_THAT(without(streams_.destroy), HasSubstr("streams has no destroy"));
  EXPECT_THAT(without(streams_.query), HasSubstr("streams has no query"));
  EXPECT_THAT(without(streams_.sync), HasSubstr("streams has no sync"));
  EXPECT_THAT(without(streams_.priorities), HasSubstr("streams has no priorities"));
  EXPECT_THAT(without(events_.create), HasSubstr("events has no create"));
  EXPECT_THAT(without(events_.destroy), HasSubstr("events has no destroy"));
  EXPECT_THAT(without(events_.record), HasSubstr("events has no record"));
  EXPECT_THAT(without(events_.wait), HasSubstr("events has no wait"));
  EXPECT_THAT(without(events_.query), HasSubstr("events has no query"));
  EXPECT_THAT(without(events_.sync), HasSubstr("events has no sync"));
  EXPECT_THAT(without(events_.elapsed), HasSubstr("events has no elapsed"));
  EXPECT_THAT(without(host_memory_.alloc), HasSubstr("host_memory has no alloc"));
  EXPECT_THAT(without(host_memory_.free), HasSubstr("host_memory has no free"));
  EXPECT_THAT(without(host_memory_.info), HasSubstr("host_memory has no info"));
  EXPECT_THAT(without(device_state_.select), HasSubstr("device_state has no select"));
  EXPECT_THAT(without(device_state_.is_active), HasSubstr("device_state has no is_active"));
  EXPECT_THAT(without(device_state_.memory_usage), HasSubstr("device_state has no memory_usage"));
}

TEST_F(TableCheckTest, GroupsMayBeAbsent) {
  // First those that need others.
  table_.host_registration = nullptr;
  table_.native = nullptr;
  table_.callbacks = nullptr;
  table_.ipc = nullptr;
  table_.graphs = nullptr;
  EXPECT_THAT(without(table_.events), IsEmpty());
  EXPECT_THAT(without(table_.host_memory), IsEmpty());
  EXPECT_THAT(without(table_.device_state), IsEmpty());
  table_.events = nullptr;
  EXPECT_THAT(without(table_.streams), IsEmpty());
}

TEST_F(TableCheckTest, EventsNeedStreams) {
  EXPECT_THAT(without(table_.streams), HasSubstr("events without the group streams"));
}

TEST_F(TableCheckTest, CallbacksNeedStreamsAndGraphsNeedEvents) {
  table_.native = nullptr;
  table_.ipc = nullptr;
  EXPECT_THAT(without(table_.events), HasSubstr("graphs without the group events"));
  table_.events = nullptr;
  table_.graphs = nullptr;
  EXPECT_THAT(without(table_.streams), HasSubstr("callbacks without the group streams"));
}

TEST_F(TableCheckTest, AnotherMajorIsRefusedWithBothVersionsAndARemedy) {
  table_.abi_major = OUTBACK_ABI_MAJOR + 1;
  table_.abi_minor = 7;
  const std::string theirs = std::to_string(OUTBACK_ABI_MAJOR + 1) + ".7";
  const std::string ours =
      std::to_string(OUTBACK_ABI_MAJOR) + "." + std::to_string(OUTBACK_ABI_MINOR);
  EXPECT_THAT(table_problem(&table_), AllOf(HasSubstr(theirs), HasSubstr(ours),
                                            HasSubstr("compile the runtime with this header")));
}

TEST_F(TableCheckTest, AnotherMinorIsFine) {
  table_.abi_minor = OUTBACK_ABI_MINOR + 100;
  EXPECT_THAT(table_problem(&table_), IsEmpty());
  table_.abi_minor = 0;
  EXPECT_THAT(table_problem(&table_), IsEmpty());
}

TEST_F(TableCheckTest, ATableWithoutASizeIsRefused) {
  table_.struct_size = 0;
  EXPECT_THAT(table_problem(&table_), HasSubstr("struct_size 0"));
}

TEST_F(TableCheckTest, ATableThatEndsBeforeARequiredSlotIsRefused) {
  table_.struct_size = offsetof(outback_runtime, mem_fill);
  EXPECT_THAT(table_problem(&table_), HasSubstr("no mem_fill"));
  table_.struct_size = offsetof(outback_runtime, mem_fill) + 1;
  EXPECT_THAT(table_problem(&table_), HasSubstr("no mem_fill"));
}

TEST_F(TableCheckTest, AGroupThatEndsEarlyIsRefused) {
  streams_.struct_size = offsetof(outback_streams, sync);
  EXPECT_THAT(table_problem(&table_), HasSubstr("streams has no sync"));
}

// What lies beyond the table's size is not even read: here it would be half a group.
TEST_F(TableCheckTest, GroupsBeyondAnOlderTableAreAbsent) {
  table_.struct_size = offsetof(outback_runtime, host_memory);
  host_memory_.alloc = nullptr;
  EXPECT_THAT(table_problem(&table_), IsEmpty());
  const complete_table whole(table_);
  EXPECT_EQ(whole.runtime().host_memory, nullptr);
  EXPECT_EQ(whole.runtime().device_state, nullptr);
  ASSERT_NE(whole.runtime().events, nullptr);
  EXPECT_EQ(whole.runtime().events->sync, events_.sync);
}

// A heap block of exactly the older size, so that the address sanitizer sees a read beyond it.
TEST_F(TableCheckTest, AnOlderTableIsNotReadBeyondItsEnd) {
  const std::size_t size = offsetof(outback_runtime, streams);
  table_.struct_size = uint32_t(size);
  void* block = std::malloc(size);
  std::memcpy(block, &table_, size);
  const auto* older = static_cast<const outback_runtime*>(block);
  EXPECT_THAT(table_problem(older), IsEmpty());
  auto whole = std::make_unique<complete_table>(*older);
  std::free(block);
  EXPECT_EQ(whole->runtime().struct_size, sizeof(outback_runtime));
  EXPECT_EQ(whole->runtime().self, table_.self);
  EXPECT_EQ(whole->runtime().mem_fill, table_.mem_fill);
  EXPECT_EQ(whole->runtime().streams, nullptr);
  EXPECT_EQ(whole->runtime().events, nullptr);
}

TEST_F(TableCheckTest, ANewerTableIsReadAsFarAsItIsKnown) {
  struct {
    outback_runtime known;
    const void* appended;
  } newer = {table_, this};
  newer.known.struct_size = sizeof(newer);
  EXPECT_THAT(table_problem(&newer.known), IsEmpty());
  const complete_table whole(newer.known);
  EXPECT_EQ(whole.runtime().struct_size, sizeof(outback_runtime));
  EXPECT_EQ(whole.runtime().device_state->select, device_state_.select);
}

TEST_F(TableCheckTest, ACopyNeedsNothingOfTheOriginal) {
  const complete_table whole(table_);
  const auto create = streams_.create;
  std::memset(&streams_, 0, sizeof(streams_));
  std::memset(&table_, 0, sizeof(table_));
  EXPECT_EQ(whole.runtime().streams->create, create);
  EXPECT_EQ(whole.runtime().streams->struct_size, sizeof(outback_streams));
}

}  // namespace
}  // namespace outback
