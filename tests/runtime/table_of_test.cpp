// outback/runtime.hpp: a class becomes a table, and what it throws becomes a status.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "outback/runtime.hpp"
#include "outback/table_check.hpp"
#include "tests/runtime/whole_runtime.hpp"

namespace outback {
namespace {

using testing::ElementsAre;

// The required members, of which `device_sync` does what the test says.
struct small_runtime {
  std::function<void()> on_sync = [] {};

  int32_t device_count() { return on_sync(), 1; }
  outback_device_info device_info(int32_t) {
    outback_device_info info = {};
    info.flags = 4;
    info.memory_size = 5;
    return info;
  }
  void device_sync(int32_t) { on_sync(); }
  void* mem_alloc(int32_t, std::size_t) { return on_sync(), this; }
  void mem_free(int32_t, void*) noexcept {}
  void mem_copy(void*, int32_t, const void*, int32_t, std::size_t, outback_stream) {}
  void mem_fill(int32_t, void*, std::size_t, const void*, std::size_t, outback_stream) {}
};
static_assert(device_runtime<small_runtime>);

struct with_streams : small_runtime {
  outback_stream stream_create(int32_t, int32_t priority) {
    on_sync();
    return reinterpret_cast<outback_stream>(uintptr_t(4096 + priority));
  }
  void stream_destroy(int32_t, outback_stream) {}
  bool stream_query(int32_t, outback_stream) { return on_sync(), ready; }
  void stream_sync(int32_t, outback_stream) {}
  priority_range stream_priorities(int32_t) { return on_sync(), priority_range{1, -2}; }

  bool ready = true;
};
static_assert(device_runtime<with_streams>);

struct with_events : with_streams {
  outback_event event_create(int32_t, uint32_t) { return nullptr; }
  void event_destroy(int32_t, outback_event) {}
  void event_record(int32_t, outback_event, outback_stream) {}
  void event_wait(int32_t, outback_event, outback_stream) {}
  bool event_query(int32_t, outback_event) { return ready; }
  void event_sync(int32_t, outback_event) {}
  std::optional<int64_t> event_elapsed(outback_event, outback_event) {
    return ready ? std::optional<int64_t>(42) : std::nullopt;
  }
};
static_assert(device_runtime<with_events>);

// A class for each group, which has what the group needs too.
namespace with {
using runtime = small_runtime;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define OUTBACK_MEMBER(group, slot, member, result, parameters, ...) \
  result member parameters {                                         \
    return nothing<result>();                                        \
  }
#define OUTBACK_X(group, introduced, needs, ...) \
  struct group : needs {                         \
    OUTBACK_SLOTS_OF_##group(OUTBACK_MEMBER)     \
  };
OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
#undef OUTBACK_MEMBER
#pragma GCC diagnostic pop
}  // namespace with

struct without_copy : small_runtime {
  void mem_copy(int32_t) = delete;
};
static_assert(!device_runtime<without_copy>);
struct half_streams : small_runtime {
  outback_stream stream_create(int32_t, int32_t) { return nullptr; }
};
static_assert(!device_runtime<half_streams>);
struct half_graphs : with_events {
  void graph_begin(int32_t, outback_stream) {}
};
static_assert(!device_runtime<half_graphs>);
struct callbacks_without_streams : small_runtime {
  void callback_enqueue(int32_t, outback_callback, void*, outback_stream) {}
};
static_assert(!device_runtime<callbacks_without_streams>);
struct status_as_answer : with_streams {
  int stream_query(int32_t, outback_stream) { return 0; }  // a driver's "success": not a yes or no
};
static_assert(!device_runtime<status_as_answer>);

class TableOfTest : public testing::Test {
 protected:
  with_events object_;
  const outback_runtime* const table_ = table_of(object_);

  std::string text() const { return table_->last_error(table_->self); }
  template <class Error>
  outback_status sync_throwing(const Error& error) {
    object_.on_sync = [error] { throw error; };
    return table_->device_sync(table_->self, 0);
  }
};

TEST_F(TableOfTest, TheTableIsWhole) {
  EXPECT_EQ(table_problem(table_), "");
  EXPECT_EQ(table_->struct_size, sizeof(outback_runtime));
  EXPECT_EQ(table_->abi_major, OUTBACK_ABI_MAJOR);
  EXPECT_EQ(table_->abi_minor, OUTBACK_ABI_MINOR);
  EXPECT_EQ(table_->self, &object_);
}

template <class Class>
std::vector<std::string> groups_of() {
  static_assert(device_runtime<Class>);
  static Class object;
  const outback_runtime& table = *table_of(object);
  std::vector<std::string> names;
#define OUTBACK_X(group, ...) \
  if (table.group != nullptr) names.emplace_back(#group);
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  return names;
}

TEST(TableGroupsTest, AreThoseOfTheClass) {
  EXPECT_THAT(groups_of<small_runtime>(), ElementsAre());
  EXPECT_THAT(groups_of<with_events>(), ElementsAre("streams", "events"));
  std::map<std::string, std::vector<std::string>> wanted = {{"runtime", {}}};
#define OUTBACK_X(group, introduced, needs, ...) \
  wanted[#group] = wanted[#needs];               \
  wanted[#group].emplace_back(#group);           \
  EXPECT_EQ(groups_of<with::group>(), wanted[#group]);
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
  EXPECT_THAT(wanted["ipc"], ElementsAre("streams", "events", "ipc"));
  EXPECT_THAT(wanted["host_registration"], ElementsAre("host_memory", "host_registration"));
  EXPECT_EQ(groups_of<whole_runtime>().size(), wanted.size() - 1);
}

TEST_F(TableOfTest, OneTableForEachObject) {
  with_events other;
  EXPECT_EQ(table_of(object_), table_);
  EXPECT_NE(table_of(other), table_);
  EXPECT_EQ(table_of(other)->self, &other);
}

TEST_F(TableOfTest, EveryExceptionHasItsStatus) {
  EXPECT_EQ(sync_throwing(invalid_argument("a")), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(text(), "a");
  EXPECT_EQ(sync_throwing(out_of_memory("b")), OUTBACK_OUT_OF_MEMORY);
  EXPECT_EQ(text(), "b");
  EXPECT_EQ(sync_throwing(device_lost("c")), OUTBACK_DEVICE_LOST);
  EXPECT_EQ(text(), "c");
  EXPECT_EQ(sync_throwing(unsupported("d")), OUTBACK_UNSUPPORTED);
  EXPECT_EQ(text(), "d");
  EXPECT_EQ(sync_throwing(runtime_error(OUTBACK_INTERNAL, "e")), OUTBACK_INTERNAL);
  EXPECT_EQ(text(), "e");
  EXPECT_EQ(sync_throwing(std::bad_alloc()), OUTBACK_OUT_OF_MEMORY);
  EXPECT_THAT(text(), testing::HasSubstr("memory"));
  EXPECT_EQ(sync_throwing(std::logic_error("f")), OUTBACK_INTERNAL);
  EXPECT_EQ(text(), "f");
  EXPECT_EQ(sync_throwing(7), OUTBACK_INTERNAL);
  EXPECT_THAT(text(), testing::HasSubstr("not a std::exception"));
}

TEST_F(TableOfTest, AnAnswerCannotBeThrown) {
  EXPECT_EQ(sync_throwing(runtime_error(OUTBACK_OK, "fine")), OUTBACK_INTERNAL);
  EXPECT_EQ(sync_throwing(runtime_error(OUTBACK_NOT_READY, "later")), OUTBACK_INTERNAL);
}

TEST_F(TableOfTest, TheTextIsTheThreadsOwn) {
  sync_throwing(unsupported("mine"));
  std::string before = "not asked", after;
  std::thread([&] {
    before = text();
    object_.on_sync = [] { throw unsupported("theirs"); };
    table_->device_sync(table_->self, 0);
    after = text();
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_EQ(after, "theirs");
  EXPECT_EQ(text(), "mine");
}

TEST_F(TableOfTest, TheTextOutlivesSuccesses) {
  sync_throwing(unsupported("kept"));
  object_.on_sync = [] {};
  EXPECT_EQ(table_->device_sync(table_->self, 0), OUTBACK_OK);
  EXPECT_EQ(text(), "kept");
}

TEST_F(TableOfTest, ALongTextIsCut) {
  sync_throwing(unsupported(std::string(50000, 'x')));
  EXPECT_EQ(text(), std::string(8191, 'x'));
}

TEST_F(TableOfTest, FailuresLeaveTheOutputs) {
  object_.on_sync = [] { throw unsupported("no"); };
  int32_t count = -7, least = -8, greatest = -9;
  void* ptr = this;
  outback_stream stream = nullptr;
  EXPECT_EQ(table_->device_count(table_->self, &count), OUTBACK_UNSUPPORTED);
  EXPECT_EQ(table_->mem_alloc(table_->self, 0, 1, &ptr), OUTBACK_UNSUPPORTED);
  EXPECT_EQ(table_->streams->create(table_->self, 0, 0, &stream), OUTBACK_UNSUPPORTED);
  EXPECT_EQ(table_->streams->priorities(table_->self, 0, &least, &greatest), OUTBACK_UNSUPPORTED);
  EXPECT_EQ(count, -7);
  EXPECT_EQ(ptr, this);
  EXPECT_EQ(stream, nullptr);
  EXPECT_EQ(least, -8);
  EXPECT_EQ(greatest, -9);
}

TEST_F(TableOfTest, AnswersReachTheCaller) {
  int32_t least = 0, greatest = 0;
  outback_stream stream = nullptr;
  EXPECT_EQ(table_->streams->create(table_->self, 0, 3, &stream), OUTBACK_OK);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(stream), 4099u);
  EXPECT_EQ(table_->streams->priorities(table_->self, 0, &least, &greatest), OUTBACK_OK);
  EXPECT_EQ(least, 1);
  EXPECT_EQ(greatest, -2);
}

TEST_F(TableOfTest, NoMeansNotReady) {
  const auto event = reinterpret_cast<outback_event>(&object_);
  int64_t ns = -7;
  object_.ready = false;
  EXPECT_EQ(table_->streams->query(table_->self, 0, nullptr), OUTBACK_NOT_READY);
  EXPECT_EQ(table_->events->query(table_->self, 0, event), OUTBACK_NOT_READY);
  EXPECT_EQ(table_->events->elapsed(table_->self, event, event, &ns), OUTBACK_NOT_READY);
  EXPECT_EQ(ns, -7);
  object_.ready = true;
  EXPECT_EQ(table_->streams->query(table_->self, 0, nullptr), OUTBACK_OK);
  EXPECT_EQ(table_->events->query(table_->self, 0, event), OUTBACK_OK);
  EXPECT_EQ(table_->events->elapsed(table_->self, event, event, &ns), OUTBACK_OK);
  EXPECT_EQ(ns, 42);
}

TEST_F(TableOfTest, ASmallerStructIsRespected) {
  outback_device_info info = {};
  info.struct_size = offsetof(outback_device_info, memory_size);
  info.memory_size = 77;
  EXPECT_EQ(table_->device_info(table_->self, 0, &info), OUTBACK_OK);
  EXPECT_EQ(info.flags, 4u);
  EXPECT_EQ(info.memory_size, 77u);
  EXPECT_EQ(info.struct_size, offsetof(outback_device_info, memory_size));
}

TEST_F(TableOfTest, AStructWithoutASizeIsRefused) {
  outback_device_info info = {};
  EXPECT_EQ(table_->device_info(table_->self, 0, &info), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(text(), testing::HasSubstr("struct_size is 0"));
}

TEST(CheckDeviceTest, SaysWhichThereAre) {
  EXPECT_NO_THROW(check_device(0, 1));
  EXPECT_NO_THROW(check_device(1, 2));
  const auto text = [](int32_t device, int32_t count) {
    try {
      check_device(device, count);
    } catch (const invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(text(2, 2), "there is no device 2: they are 0 to 1");
  EXPECT_EQ(text(-1, 1), "there is no device -1: the only one is 0");
  EXPECT_EQ(text(0, 0), "there is no device 0: there are no devices");
}

}  // namespace
}  // namespace outback
