// outback/table_check.hpp: which tables are refused, in which words, and what a copy of an older
// one says.
#include "outback/table_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "tests/runtime/open_table.hpp"
#include "tests/runtime/whole_runtime.hpp"

namespace outback {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

class TableCheckTest : public testing::Test {
 protected:
  // A table with all groups, to take something from.
  open_table open_{*table_of(whole_)};
  outback_runtime& table_ = open_.runtime;

  // The problem once `member` is null.
  template <class Member>
  std::string without(Member& member) {
    const Member kept = std::exchange(member, nullptr);
    std::string problem = table_problem(&table_);
    member = kept;
    return problem;
  }

 private:
  static whole_runtime whole_;
};

whole_runtime TableCheckTest::whole_;

TEST_F(TableCheckTest, AWholeTableIsFine) {
  EXPECT_THAT(table_problem(&table_), IsEmpty());
}

TEST_F(TableCheckTest, NullIsRefused) {
  EXPECT_THAT(table_problem(nullptr), HasSubstr("table is null"));
}

TEST_F(TableCheckTest, EverySlotIsNamedWhenItIsMissing) {
  EXPECT_THAT(without(table_.last_error), HasSubstr("no last_error"));
  slots::for_each_slot([&](auto slot) {
    using Slot = decltype(slot);
    std::string name = Slot::name;  // mem_alloc, streams.create
    const auto dot = name.find('.');
    const std::string want = dot == std::string::npos
                                 ? "has no " + name + ", which is required"
                                 : "group " + name.replace(dot, 1, " has no ") + " (struct_size";
    const std::string problem = without(open_.at<Slot>());
    if (slots::is_appended<Slot>) {
      EXPECT_THAT(problem, IsEmpty()) << Slot::name;
    } else {
      EXPECT_THAT(problem, HasSubstr(want));
    }
  });
}

TEST_F(TableCheckTest, AGroupThatEndsEarlyIsRefused) {
  slots::for_each_slot([&](auto slot) {
    using Slot = decltype(slot);
    if constexpr (!std::is_same_v<typename Slot::owner, outback_runtime>) {
      auto& group =
          const_cast<typename Slot::owner&>(*(table_.*slots::group<typename Slot::owner>::pointer));
      const auto offset = reinterpret_cast<const char*>(&(group.*Slot::pointer)) -
                          reinterpret_cast<const char*>(&group);
      const uint32_t size = std::exchange(group.struct_size, static_cast<uint32_t>(offset) + 1);
      std::string name = Slot::name;
      const std::string problem = table_problem(&table_);
      if (slots::is_appended<Slot>) {
        EXPECT_THAT(problem, IsEmpty()) << name;
      } else {
        EXPECT_THAT(problem, HasSubstr(name.replace(name.find('.'), 1, " has no ")));
      }
      group.struct_size = size;
    }
  });
}

TEST_F(TableCheckTest, PaddingIsZeroUnlessTheTableIsNewer){
#define OUTBACK_X(group, ...)                                                 \
  {                                                                           \
    open_.group.reserved = 7;                                                 \
    EXPECT_EQ(table_problem(&table_),                                         \
              "the runtime's group " #group " has reserved 7: it must be 0"); \
    table_.abi_minor = OUTBACK_ABI_MINOR + 1;                                 \
    EXPECT_THAT(table_problem(&table_), IsEmpty()) << #group;                 \
    table_.abi_minor = OUTBACK_ABI_MINOR;                                     \
    open_.group.reserved = 0;                                                 \
  }
    OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
}

TEST_F(TableCheckTest, GroupsThatNoOtherNeedsMayBeAbsent) {
  std::set<std::string> needed;
#define OUTBACK_X(group, introduced, needs, ...) needed.insert(#needs);
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  EXPECT_THAT(needed, testing::UnorderedElementsAre("runtime", "streams", "events", "host_memory"));
#define OUTBACK_X(group, ...)                                \
  if (!needed.contains(#group)) {                            \
    EXPECT_THAT(without(table_.group), IsEmpty()) << #group; \
  }
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
}

TEST_F(TableCheckTest, NoGroupAtAllIsFine) {
#define OUTBACK_X(group, ...) table_.group = nullptr;
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  EXPECT_THAT(table_problem(&table_), IsEmpty());
}

// Each group, and nothing else but what it needs; then that is taken away.
TEST_F(TableCheckTest, AGroupNeedsOthers) {
  const outback_runtime whole = table_;
  const auto expect = [&](auto group, const char* name, auto needed, const char* needed_name) {
#define OUTBACK_X(each, ...) table_.each = nullptr;
    OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
    table_.streams = whole.streams;
    table_.*needed = whole.*needed;
    table_.*group = whole.*group;
    EXPECT_THAT(table_problem(&table_), IsEmpty()) << name;
    table_.*needed = nullptr;
    EXPECT_EQ(table_problem(&table_), "the runtime's table has the group " + std::string(name) +
                                          " without the group " + needed_name + ", which it needs");
  };
  using table = outback_runtime;
  expect(&table::events, "events", &table::streams, "streams");
  expect(&table::host_registration, "host_registration", &table::host_memory, "host_memory");
  expect(&table::native, "native", &table::events, "events");
  expect(&table::callbacks, "callbacks", &table::streams, "streams");
  expect(&table::ipc, "ipc", &table::events, "events");
  expect(&table::graphs, "graphs", &table::events, "events");
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

// What lies beyond the table's size is not even read: here it would be half a group.
TEST_F(TableCheckTest, GroupsBeyondAnOlderTableAreAbsent) {
  std::size_t known = 0;
  const auto count = [](const outback_runtime& t) {
    std::size_t groups = 0;
#define OUTBACK_X(group, ...) groups += t.group != nullptr ? 1 : 0;
    OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
    return groups;
  };
#define OUTBACK_X(group, ...)                                        \
  {                                                                  \
    table_.struct_size = offsetof(outback_runtime, group);           \
    const uint32_t size = std::exchange(open_.group.struct_size, 8); \
    EXPECT_THAT(table_problem(&table_), IsEmpty()) << #group;        \
    const complete_table whole(table_);                              \
    EXPECT_EQ(whole.runtime().group, nullptr) << #group;             \
    EXPECT_EQ(count(whole.runtime()), known++) << #group;            \
    open_.group.struct_size = size;                                  \
  }
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
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
  EXPECT_EQ(whole.runtime().device_state->select, open_.device_state.select);
}

TEST_F(TableCheckTest, ACopyHasAllGroupsAndNeedsNothingOfTheOriginal) {
  const complete_table whole(table_);
#define OUTBACK_X(group, ...)                                                      \
  {                                                                                \
    const outback_##group was = open_.group;                                       \
    std::memset(&open_.group, 0, sizeof(was));                                     \
    ASSERT_NE(whole.runtime().group, nullptr) << #group;                           \
    EXPECT_EQ(std::memcmp(whole.runtime().group, &was, sizeof(was)), 0) << #group; \
  }
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  const auto fill = table_.mem_fill;
  std::memset(&table_, 0, sizeof(table_));
  EXPECT_EQ(whole.runtime().mem_fill, fill);
}

}  // namespace
}  // namespace outback
