// Every slot of a table that outback::table_of made: null is refused before the class is called,
// what the class throws is a status, and a failure leaves the outputs. By the list of all slots.
#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "outback/table_check.hpp"
#include "tests/runtime/suite/any_call.hpp"
#include "tests/runtime/whole_runtime.hpp"

namespace outback {
namespace {

using slots::argument;
using slots::role;
using suite::call_of;

// What may be null: the default stream, and what only some devices can do without.
template <class Slot>
bool may_be_null(const argument& a) {
  const std::string slot = Slot::name, name = a.name;
  return a.is == role::or_null || slot == "mem_free" || slot == "host_memory.free" ||
         (slot == "host_memory.info" && name == "ptr") || name == "data" ||
         (slot == "native.wrap_stream" && name == "handle");
}

class TableSlotsTest : public testing::Test {
 protected:
  TableSlotsTest() {
    object_.on_call = [this] {
      ++calls_;
      throw unsupported("not today");
    };
  }
  std::string text() const { return table_->last_error(table_->self); }

  whole_runtime object_;
  int calls_ = 0;
  const outback_runtime* const table_ = table_of(object_);
};

TEST_F(TableSlotsTest, TheClassHasAllGroups) {
  EXPECT_EQ(table_problem(table_), "");
#define OUTBACK_X(group, ...)                  \
  ASSERT_NE(table_->group, nullptr) << #group; \
  EXPECT_EQ(table_->group->struct_size, sizeof(outback_##group));
  OUTBACK_GROUPS(OUTBACK_X)
#undef OUTBACK_X
}

TEST_F(TableSlotsTest, WhatTheClassThrowsIsTheAnswerAndTheOutputsStay) {
  int slots = 0;
  slots::for_each_slot([&](auto slot) {
    using Slot = decltype(slot);
    const call_of<Slot> call;
    EXPECT_EQ(call(*table_), OUTBACK_UNSUPPORTED) << Slot::name;
    EXPECT_EQ(text(), "not today") << Slot::name;
    EXPECT_TRUE(call.untouched()) << Slot::name;
    EXPECT_EQ(calls_, ++slots) << Slot::name;
  });
}

TEST_F(TableSlotsTest, NullIsRefusedBeforeTheClassIsCalled) {
  slots::for_each_slot([&](auto slot) {
    using Slot = decltype(slot);
    for (std::size_t nulled = 0; nulled < std::size(Slot::arguments); ++nulled) {
      const argument& a = Slot::arguments[nulled];
      call_of<Slot> call;
      bool is_pointer = false;
      call.each([&](std::size_t i, argument, auto& value) {
        using Value = std::remove_reference_t<decltype(value)>;
        if constexpr (std::is_pointer_v<Value>) {
          if (i == nulled) value = nullptr, is_pointer = true;
        }
      });
      if (!is_pointer) continue;
      const std::string what = Slot::name + std::string(": ") + a.name;
      calls_ = 0;
      const bool may_be = may_be_null<Slot>(a);
      EXPECT_EQ(call(*table_), may_be ? OUTBACK_UNSUPPORTED : OUTBACK_INVALID_ARGUMENT) << what;
      EXPECT_EQ(calls_, may_be ? 1 : 0) << what;
      if (!may_be) {
        EXPECT_EQ(text(), a.name + std::string(" is null")) << what;
      }
    }
  });
}

TEST_F(TableSlotsTest, AStructWithoutASizeIsRefusedBeforeTheClassIsCalled) {
  int structs = 0;
  slots::for_each_slot([&](auto slot) {
    using Slot = decltype(slot);
    call_of<Slot> call;
    bool has_one = false;
    call.each([&](std::size_t, argument, auto& value) {
      if constexpr (requires { value->struct_size; }) {
        static std::remove_cvref_t<decltype(*value)> unset = {};
        value = &unset, has_one = true;
      }
    });
    if (!has_one) return;
    ++structs;
    EXPECT_EQ(call(*table_), OUTBACK_INVALID_ARGUMENT) << Slot::name;
    EXPECT_NE(text().find("struct_size is 0"), std::string::npos) << Slot::name << ": " << text();
    EXPECT_EQ(calls_, 0) << Slot::name;
  });
  EXPECT_GE(structs, 7);
}

TEST_F(TableSlotsTest, ARegistrationIsNotEmpty) {
  std::byte host[64] = {};
  EXPECT_EQ(table_->host_registration->add(table_->self, host, 0), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(text(), "size is 0: expected a range that is not empty");
  EXPECT_EQ(calls_, 0);
}

TEST_F(TableSlotsTest, EventFlagsAreThoseThatThereAreAndFitTogether) {
  // One that there is not, and TIMING with INTERPROCESS.
  for (const uint32_t flags : {8u, 5u}) {
    outback_event event = nullptr;
    EXPECT_EQ(table_->events->create(table_->self, 0, flags, &event), OUTBACK_INVALID_ARGUMENT);
    EXPECT_EQ(text(), "flags is " + std::to_string(flags) +
                          ": expected a sum of OUTBACK_EVENT_TIMING, _BLOCKING and _INTERPROCESS, "
                          "and not both _TIMING and _INTERPROCESS");
    EXPECT_EQ(event, nullptr);
  }
  EXPECT_EQ(calls_, 0);
}

TEST_F(TableSlotsTest, ACopyHasADeviceOnOneSide) {
  std::byte bytes[2] = {};
  EXPECT_EQ(
      table_->mem_copy(table_->self, &bytes[0], OUTBACK_HOST, &bytes[1], OUTBACK_HOST, 1, nullptr),
      OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(text(),
            "src_device is the host, as dst_device is: expected a device on one side at least");
  EXPECT_EQ(calls_, 0);
}

TEST_F(TableSlotsTest, ADeviceIsNoPeerOfItself) {
  EXPECT_EQ(table_->peer->enable(table_->self, 1, 1), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(text(), "peer is 1: expected another device than `device`");
  EXPECT_EQ(table_->peer->disable(table_->self, 1, 1), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(calls_, 0);
  object_.on_call = [] {};
  int32_t can = -7;
  EXPECT_EQ(table_->peer->can_access(table_->self, 1, 1, &can), OUTBACK_OK);
  EXPECT_EQ(can, 0);
}

// ---- IPC handles are a struct of the caller's, who has to have room for all of it.

TEST_F(TableSlotsTest, AHandleNeedsAllOfItsSize) {
  int local = 0;
  const auto event = reinterpret_cast<outback_event>(&local);
  for (const uint32_t size : {0u, 4u, uint32_t(sizeof(outback_ipc_handle) - 1)}) {
    outback_ipc_handle handle = {};
    handle.struct_size = size;
    const auto expect_refused = [&](outback_status status) {
      EXPECT_EQ(status, OUTBACK_INVALID_ARGUMENT);
      EXPECT_EQ(text(), "handle->struct_size is " + std::to_string(size) +
                            ": expected the size of the whole struct, 128");
    };
    const outback_ipc& ipc = *table_->ipc;
    void* ptr = nullptr;
    outback_event made = nullptr;
    expect_refused(ipc.get_memory(table_->self, 0, &local, &handle));
    expect_refused(ipc.open_memory(table_->self, 0, &handle, &ptr));
    expect_refused(ipc.get_event(table_->self, 0, event, &handle));
    expect_refused(ipc.open_event(table_->self, 0, &handle, &made));
  }
  EXPECT_EQ(calls_, 0);
}

TEST_F(TableSlotsTest, AHandleHasNoMoreBytesThanThereIsRoomFor) {
  outback_ipc_handle handle = {};
  handle.struct_size = sizeof(handle);
  handle.size = sizeof(handle.bytes) + 1;
  void* ptr = nullptr;
  outback_event event = nullptr;
  EXPECT_EQ(table_->ipc->open_memory(table_->self, 0, &handle, &ptr), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(text(), "handle->size is 113: expected at most 112");
  EXPECT_EQ(table_->ipc->open_event(table_->self, 0, &handle, &event), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(calls_, 0);
  handle.size = sizeof(handle.bytes);
  EXPECT_EQ(table_->ipc->open_memory(table_->self, 0, &handle, &ptr), OUTBACK_UNSUPPORTED);
}

TEST_F(TableSlotsTest, AHandleIsWrittenNoFurtherThanTheContractGoes) {
  object_.on_call = [] {};
  void* ptr = nullptr;
  ASSERT_EQ(table_->mem_alloc(table_->self, 0, 64, &ptr), OUTBACK_OK);
  struct {
    outback_ipc_handle known;
    uint64_t appended;
  } newer = {{}, 77};
  newer.known.struct_size = sizeof(newer);
  EXPECT_EQ(table_->ipc->get_memory(table_->self, 0, ptr, &newer.known), OUTBACK_OK) << text();
  EXPECT_EQ(newer.known.struct_size, sizeof(newer));
  EXPECT_EQ(newer.known.fd, -1);
  EXPECT_GT(newer.known.size, 0u);
  EXPECT_EQ(newer.appended, 77u);
  EXPECT_EQ(table_->mem_free(table_->self, 0, ptr), OUTBACK_OK);
}

// ---- Answers

TEST_F(TableSlotsTest, AnswersReachTheCaller) {
  object_.on_call = [] {};
  const outback_runtime& t = *table_;
  int32_t can = -7;
  EXPECT_EQ(t.peer->can_access(t.self, 0, 1, &can), OUTBACK_OK);
  EXPECT_EQ(can, 1);
  void* handle = nullptr;
  EXPECT_EQ(t.native->device(t.self, 1, &handle), OUTBACK_OK);
  EXPECT_EQ(handle, object_.native_device(1));
  EXPECT_EQ(t.native->context(t.self, 1, &handle), OUTBACK_OK);
  EXPECT_EQ(handle, object_.native_context(1));
  outback_stream s = nullptr;
  EXPECT_EQ(t.native->wrap_stream(t.self, 1, handle, &s), OUTBACK_OK);
  EXPECT_NE(s, nullptr);
  int called = 0;
  const auto call = [](void* data) { ++*static_cast<int*>(data); };
  EXPECT_EQ(t.callbacks->enqueue(t.self, 1, call, &called, s), OUTBACK_OK);
  EXPECT_EQ(called, 1);
  outback_capture status = -7;
  EXPECT_EQ(t.graphs->begin(t.self, 1, s), OUTBACK_OK);
  EXPECT_EQ(t.graphs->status(t.self, 1, s, &status), OUTBACK_OK);
  EXPECT_EQ(status, OUTBACK_CAPTURE_ACTIVE);
  EXPECT_EQ(t.callbacks->enqueue(t.self, 1, call, &called, s), OUTBACK_OK);
  outback_graph g = nullptr;
  EXPECT_EQ(t.graphs->end(t.self, 1, s, &g), OUTBACK_OK);
  EXPECT_EQ(t.graphs->instantiate(t.self, 1, g), OUTBACK_OK);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(t.graphs->launch(t.self, 1, g, s), OUTBACK_OK);
  EXPECT_EQ(called, 2);
  EXPECT_EQ(t.graphs->destroy(t.self, 1, g), OUTBACK_OK);
  EXPECT_EQ(t.streams->destroy(t.self, 1, s), OUTBACK_OK);
  int64_t value = -7;
  EXPECT_EQ(t.telemetry->read(t.self, 0, OUTBACK_METRIC_MEMORY_USED, &value), OUTBACK_OK);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(t.telemetry->read(t.self, 0, OUTBACK_METRIC_POWER, &value), OUTBACK_UNSUPPORTED);
  outback_processes processes = {};
  processes.struct_size = sizeof(processes);
  EXPECT_EQ(t.telemetry->processes(t.self, 0, &processes), OUTBACK_OK);
  EXPECT_EQ(processes.count, 0u);
  uint64_t number = 0;
  EXPECT_EQ(t.activity->start(t.self, 0), OUTBACK_OK);
  EXPECT_EQ(t.activity->push(t.self, 9), OUTBACK_OK);
  EXPECT_EQ(t.activity->pop(t.self, &number), OUTBACK_OK);
  EXPECT_EQ(number, 9u);
  EXPECT_EQ(t.activity->stream(t.self, 0, nullptr, &number), OUTBACK_OK);
  EXPECT_EQ(t.activity->clock(t.self, 0, &value), OUTBACK_OK);
  EXPECT_EQ(t.activity->flush(t.self, 0), OUTBACK_OK);
  outback_records records = {};
  EXPECT_EQ(t.activity->read(t.self, 0, &records), OUTBACK_INVALID_ARGUMENT);
  records.struct_size = sizeof(records);
  EXPECT_EQ(t.activity->read(t.self, 0, &records), OUTBACK_OK);
  EXPECT_EQ(records.struct_size, sizeof(records));
  EXPECT_EQ(t.activity->stop(t.self, 0), OUTBACK_OK);
  EXPECT_EQ(t.ranges->push(t.self, "one"), OUTBACK_OK);
  EXPECT_THAT(object_.open_ranges(), testing::ElementsAre("one"));
  EXPECT_EQ(t.ranges->mark(t.self, "here"), OUTBACK_OK);
  EXPECT_EQ(t.ranges->pop(t.self), OUTBACK_OK);
  EXPECT_EQ(t.ranges->pop(t.self), OUTBACK_INVALID_ARGUMENT);
}

TEST_F(TableSlotsTest, ModulesAndKernels) {
  object_.on_call = [] {};
  const outback_runtime& t = *table_;
  outback_formats formats = {};
  EXPECT_EQ(t.kernels->formats(t.self, 0, &formats), OUTBACK_INVALID_ARGUMENT);
  formats.struct_size = sizeof(formats);
  EXPECT_EQ(t.kernels->formats(t.self, 0, &formats), OUTBACK_OK);
  EXPECT_EQ(formats.struct_size, sizeof(formats));
  EXPECT_EQ(formats.count, 1u);
  outback_module m = nullptr;
  EXPECT_EQ(t.kernels->module_load(t.self, 0, OUTBACK_FORMAT_HOST, nullptr, 4, &m),
            OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t.kernels->module_load(t.self, 0, OUTBACK_FORMAT_HOST, "", 0, &m),
            OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t.kernels->module_load(t.self, 0, OUTBACK_FORMAT_HOST, "code", 4, &m), OUTBACK_OK);
  outback_kernel k = nullptr;
  EXPECT_EQ(t.kernels->kernel(t.self, 0, m, nullptr, &k), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t.kernels->kernel(t.self, 0, m, "none", &k), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t.kernels->kernel(t.self, 0, m, "add", &k), OUTBACK_OK);
  outback_kernel_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(t.kernels->info(t.self, 0, k, &info), OUTBACK_OK);
  EXPECT_EQ(info.max_items, 256u);
  const uint32_t number = 7;
  outback_argument argument = {&number, sizeof(number), 0};
  outback_launch launch = {.struct_size = sizeof(launch),
                           .argument_count = 1,
                           .arguments = &argument,
                           .groups = {3, 1, 1},
                           .items = {1, 1, 1},
                           .local_size = 0};
  EXPECT_EQ(t.kernels->launch(t.self, 0, k, &launch, nullptr), OUTBACK_OK);
  EXPECT_EQ(object_.launches(), 1);
  EXPECT_EQ(object_.last_groups(), 3u);
  const auto refuses = [&](outback_launch wrong, const char* expected) {
    EXPECT_EQ(t.kernels->launch(t.self, 0, k, &wrong, nullptr), OUTBACK_INVALID_ARGUMENT);
    EXPECT_THAT(t.last_error(t.self), testing::HasSubstr(expected));
  };
  outback_launch wrong = launch;
  wrong.struct_size = 8;
  refuses(wrong, "launch->struct_size is 8: expected the size of the whole struct, 48");
  wrong = launch;
  wrong.items[2] = 0;
  refuses(wrong, "launch->items is 0: expected at least 1 item in each dimension");
  wrong = launch;
  wrong.items[0] = wrong.items[1] = 1u << 20;
  refuses(wrong, "launch->items is 1099511627776: expected fewer items in a group");
  wrong = launch;
  wrong.arguments = nullptr;
  refuses(wrong, "launch->arguments is null, and argument_count is 1");
  argument.value = nullptr;
  refuses(launch, "arguments[0].value is null");
  argument = {&number, 0, 0};
  refuses(launch, "arguments[0].size is 0: expected at least 1");
  argument = {&number, 4, 1};
  refuses(launch, "arguments[0].size is 4: expected the size of a pointer, 8");
  argument = {&number, 4, 2};
  refuses(launch, "arguments[0].is_memory is 2: expected 0 or 1");
  EXPECT_EQ(object_.launches(), 1);
  EXPECT_EQ(t.kernels->module_unload(t.self, 0, nullptr), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t.kernels->module_unload(t.self, 0, m), OUTBACK_OK);
}

TEST_F(TableSlotsTest, WhatOneProcessAllocatedAnotherOneOpens) {
  object_.on_call = [] {};
  whole_runtime other_object;
  const outback_runtime &t = *table_, &other = *table_of(other_object);
  void *ptr = nullptr, *opened = nullptr;
  outback_ipc_handle handle = {};
  handle.struct_size = sizeof(handle);
  ASSERT_EQ(t.mem_alloc(t.self, 1, 64, &ptr), OUTBACK_OK);
  ASSERT_EQ(t.ipc->get_memory(t.self, 1, ptr, &handle), OUTBACK_OK) << text();
  EXPECT_EQ(t.ipc->open_memory(t.self, 1, &handle, &opened), OUTBACK_INVALID_ARGUMENT);
  ASSERT_EQ(other.ipc->open_memory(other.self, 0, &handle, &opened), OUTBACK_OK) << text();
  const uint64_t want = 0x1122334455667788;
  uint64_t got = 0;
  EXPECT_EQ(other.mem_fill(other.self, 0, opened, 64, &want, 8, nullptr), OUTBACK_OK);
  EXPECT_EQ(t.mem_copy(t.self, &got, OUTBACK_HOST, ptr, 1, 8, nullptr), OUTBACK_OK);
  EXPECT_EQ(got, want);
  EXPECT_EQ(other.ipc->close_memory(other.self, 0, opened), OUTBACK_OK);
  EXPECT_EQ(other.ipc->close_memory(other.self, 0, opened), OUTBACK_INVALID_ARGUMENT);

  outback_event e = nullptr, theirs = nullptr;
  ASSERT_EQ(t.events->create(t.self, 0, OUTBACK_EVENT_INTERPROCESS, &e), OUTBACK_OK);
  ASSERT_EQ(t.ipc->get_event(t.self, 0, e, &handle), OUTBACK_OK) << text();
  ASSERT_EQ(other.ipc->open_event(other.self, 1, &handle, &theirs), OUTBACK_OK) << text();
  EXPECT_EQ(other.events->query(other.self, 1, theirs), OUTBACK_OK);
  EXPECT_EQ(other.events->destroy(other.self, 1, theirs), OUTBACK_OK);
  EXPECT_EQ(t.events->destroy(t.self, 0, e), OUTBACK_OK);
  EXPECT_EQ(t.mem_free(t.self, 1, ptr), OUTBACK_OK);
}

}  // namespace
}  // namespace outback
