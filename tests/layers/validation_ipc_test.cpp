// Registered host memory, memory and events of other processes: what does not match is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/layers/validation_testing.hpp"

namespace outback::layers {
namespace {

using testing::HasSubstr;

// ---- Registration of host memory

class RegistrationTest : public validation_test {
 protected:
  void SetUp() override { use(whole_table()); }
  outback_status add(void* ptr, std::size_t size) {
    return t_.host_registration->add(self_, ptr, size);
  }
  outback_status remove(void* ptr) { return t_.host_registration->remove(self_, ptr); }

  alignas(64) std::byte host_[256] = {};
};

TEST_F(RegistrationTest, IsRemovedOnce) {
  EXPECT_TRUE(ok(add(host_, 64)));
  EXPECT_TRUE(ok(remove(host_)));
  expect_refused([&] { return remove(host_); },
                 "host_registration.remove: ptr is " + at(host_) +
                     ": expected the beginning of registered host memory; it was removed already "
                     "(object 1)");
  EXPECT_EQ(leaks(table_), "");
  EXPECT_TRUE(ok(add(host_, 64))) << "again";
  EXPECT_TRUE(ok(remove(host_)));
}

TEST_F(RegistrationTest, IsARange) {
  expect_refused([&] { return add(nullptr, 64); },
                 "host_registration.add: ptr is null: expected a pointer");
  expect_refused([&] { return add(host_, 0); },
                 "host_registration.add: size is 0: expected a range that is not empty");
  expect_refused([&] { return add(host_, SIZE_MAX); },
                 "host_registration.add: ptr is " + at(host_) + ", " + std::to_string(SIZE_MAX) +
                     " bytes: expected a range within the addresses that there are");
}

TEST_F(RegistrationTest, IsOfHostMemory) {
  void* ptr = memory();
  expect_refused([&] { return add(after(ptr, 8), 8); },
                 "host_registration.add: ptr is " + at(after(ptr, 8)) +
                     ", 8 bytes: expected host memory; it is in an allocation of device 0, 64 "
                     "bytes from " +
                     at(ptr) + " on (object 1)");
}

TEST_F(RegistrationTest, MeetsNoOtherPinnedMemory) {
  void* own = pinned(128);
  ASSERT_TRUE(ok(add(host_ + 64, 64)));
  const std::string there =
      "expected a range that does not meet registered host memory, 64 bytes from " +
      at(host_ + 64) + " on (object 2)";
  for (const std::size_t begin : {0, 63, 64, 127}) {
    expect_refused([&] { return add(host_ + begin, 65); },
                   "host_registration.add: ptr is " + at(host_ + begin) + ", 65 bytes: " + there);
  }
  expect_refused([&] { return add(after(own, 8), 8); },
                 "host_registration.add: ptr is " + at(after(own, 8)) +
                     ", 8 bytes: expected a range that does not meet pinned host memory, 128 bytes "
                     "from " +
                     at(own) + " on (object 1)");
  EXPECT_TRUE(ok(add(host_, 64)));
  EXPECT_TRUE(ok(add(host_ + 128, 64)));
}

TEST_F(RegistrationTest, IsNobodysToFree) {
  ASSERT_TRUE(ok(add(host_, 64)));
  void* own = pinned();
  expect_refused([&] { return t_.host_memory->free(self_, host_); },
                 "host_memory.free: ptr is " + at(host_) +
                     ": expected the beginning of pinned host memory; it is registered host "
                     "memory, 64 bytes from " +
                     at(host_) + " on (object 1)");
  expect_refused([&] { return remove(own); },
                 "host_registration.remove: ptr is " + at(own) +
                     ": expected the beginning of registered host memory; it is pinned host "
                     "memory, 64 bytes from " +
                     at(own) + " on (object 2)");
  expect_refused([&] { return remove(host_ + 8); },
                 "host_registration.remove: ptr is " + at(host_ + 8) +
                     ": expected the beginning of registered host memory; it points into "
                     "registered host memory, 64 bytes from " +
                     at(host_) + " on (object 1)");
  expect_refused([&] { return remove(nullptr); },
                 "host_registration.remove: ptr is null: expected a pointer");
}

TEST_F(RegistrationTest, GoesOnBehindItsEnd) {
  ASSERT_TRUE(ok(add(host_, 64)));
  void* ptr = memory(0, 256);
  EXPECT_TRUE(ok(t_.mem_copy(self_, ptr, 0, host_ + 32, OUTBACK_HOST, 64, nullptr)));
}

TEST_F(RegistrationTest, ThatFailsChangesNothing) {
  set_faults(injected_, {{.every = 1, .status = OUTBACK_UNSUPPORTED}});
  EXPECT_EQ(add(host_, 64), OUTBACK_UNSUPPORTED);
  set_faults(injected_, {});
  ASSERT_TRUE(ok(add(host_, 64)));
  set_faults(injected_, {{.every = 1, .status = OUTBACK_INVALID_ARGUMENT}});
  EXPECT_EQ(remove(host_), OUTBACK_INVALID_ARGUMENT);
  set_faults(injected_, {});
  EXPECT_EQ(leaks(table_),
            "outback: never freed or destroyed:\n  1 registration of host memory, "
            "64 bytes:\n    " +
                at(host_) + ", 64 bytes, object 1\n");
  EXPECT_TRUE(ok(remove(host_)));
}

// ---- Memory of another process

class IpcTest : public validation_test {
 protected:
  void SetUp() override { use(whole_table()); }

  outback_status get(void* ptr, int32_t device = 0) {
    handle_.struct_size = sizeof(handle_);
    return t_.ipc->get_memory(self_, device, ptr, &handle_);
  }
  outback_status open(void** ptr, int32_t device = 0) {
    return t_.ipc->open_memory(self_, device, &handle_, ptr);
  }
  outback_status close(void* ptr, int32_t device = 0) {
    return t_.ipc->close_memory(self_, device, ptr);
  }
  /// 64 bytes of another process, whose handle is `handle_` then.
  void* made_elsewhere() {
    void* ptr = nullptr;
    handle_.struct_size = sizeof(handle_);
    EXPECT_EQ(other_->mem_alloc(other_->self, 0, 64, &ptr), OUTBACK_OK);
    EXPECT_EQ(other_->ipc->get_memory(other_->self, 0, ptr, &handle_), OUTBACK_OK);
    return ptr;
  }
  void* opened() {
    made_elsewhere();
    void* ptr = nullptr;
    EXPECT_TRUE(ok(open(&ptr)));
    return ptr;
  }

  const outback_runtime* const other_ = whole_table();
  outback_ipc_handle handle_ = {};
};

TEST_F(IpcTest, AHandleIsOfTheBeginningOfAnAllocation) {
  void* ptr = memory(1);
  const std::string there =
      "an allocation of device 1, 64 bytes from " + at(ptr) + " on (object 1)";
  EXPECT_TRUE(ok(get(ptr, 1)));
  expect_refused([&] { return get(after(ptr, 8), 1); },
                 "ipc.get_memory: ptr is " + at(after(ptr, 8)) +
                     ": expected the beginning of an allocation of device 1; it points into " +
                     there);
  expect_refused([&] { return get(ptr, 0); },
                 "ipc.get_memory: ptr is " + at(ptr) +
                     ": expected the beginning of an allocation of device 0; it is " + there);
  ASSERT_TRUE(ok(t_.mem_free(self_, 1, ptr)));
  expect_refused([&] { return get(ptr, 1); },
                 "ipc.get_memory: ptr is " + at(ptr) +
                     ": expected the beginning of an allocation of device 1; it was freed already "
                     "(object 1)");
}

TEST_F(IpcTest, MemoryOfAnotherProcessIsUsedAndNotFreed) {
  void* ptr = opened();
  EXPECT_TRUE(ok(fill(0, after(ptr, 8), 56)));
  const std::string there =
      "memory of another process, opened on device 0, 64 bytes from " + at(ptr) + " on (object 1)";
  expect_refused([&] { return fill(0, after(ptr, 8), 57); },
                 "mem_fill: ptr is " + at(after(ptr, 8)) +
                     ", 57 bytes: expected no more than is left of " + there);
  expect_refused([&] { return fill(1, ptr, 8); },
                 "mem_fill: ptr is " + at(ptr) +
                     ", 8 bytes: expected all of it in an allocation of device 1; it is in none");
  const std::string is = "it is memory of another process, opened on device 0 (object 1)";
  expect_refused([&] { return t_.mem_free(self_, 0, ptr); },
                 "mem_free: ptr is " + at(ptr) +
                     ": expected the beginning of an allocation of device 0; " + is);
  expect_refused([&] { return get(ptr); },
                 "ipc.get_memory: ptr is " + at(ptr) +
                     ": expected the beginning of an allocation of device 0; " + is);
  EXPECT_TRUE(ok(close(ptr)));
  expect_refused([&] { return fill(0, ptr, 8); },
                 "mem_fill: ptr is " + at(ptr) +
                     ", 8 bytes: expected all of it in an allocation of device 0; it is in none");
  EXPECT_EQ(leaks(table_), "");
}

TEST_F(IpcTest, IsClosedAsOftenAsItWasOpened) {
  void *ptr = opened(), *again = nullptr;
  ASSERT_TRUE(ok(open(&again)));
  ASSERT_EQ(again, ptr);
  EXPECT_EQ(leaks(table_),
            "outback: never freed or destroyed:\n  memory of another process, "
            "opened on device 0 and not closed:\n    " +
                at(ptr) + ", 64 bytes, opened 2 times, object 1\n");
  EXPECT_TRUE(ok(close(ptr)));
  EXPECT_TRUE(ok(fill(0, ptr, 64)));
  EXPECT_EQ(leaks(table_),
            "outback: never freed or destroyed:\n  memory of another process, "
            "opened on device 0 and not closed:\n    " +
                at(ptr) + ", 64 bytes, object 1\n");
  set_faults(injected_, {{.every = 1, .status = OUTBACK_INVALID_ARGUMENT}});
  EXPECT_EQ(close(ptr), OUTBACK_INVALID_ARGUMENT) << "a close that is refused has not closed";
  set_faults(injected_, {});
  EXPECT_TRUE(ok(fill(0, ptr, 64)));
  EXPECT_TRUE(ok(close(ptr)));
  expect_refused([&] { return close(ptr); },
                 "ipc.close_memory: ptr is " + at(ptr) +
                     ": expected the beginning of memory of another process, opened on device 0; "
                     "it was closed already");
}

TEST_F(IpcTest, OnlyWhatWasOpenedIsClosed) {
  void *own = memory(), *theirs = opened();
  const std::string expected =
      ": expected the beginning of memory of another process, opened on device 0; it ";
  expect_refused([&] { return close(own); }, "ipc.close_memory: ptr is " + at(own) + expected +
                                                 "is an allocation of device 0, 64 bytes from " +
                                                 at(own) + " on (object 1)");
  expect_refused([&] { return close(after(theirs, 8)); },
                 "ipc.close_memory: ptr is " + at(after(theirs, 8)) + expected +
                     "points into memory of another process, opened on device 0 (object 2)");
  expect_refused([&] { return close(this); },
                 "ipc.close_memory: ptr is " + at(this) + expected + "is none of this runtime's");
  expect_refused([&] { return close(nullptr); },
                 "ipc.close_memory: ptr is null: expected a pointer");
}

// A runtime that cannot say how much was opened.
TEST_F(IpcTest, MemoryOfUnknownSizeIsUsedFromItsBeginningOn) {
  outback_runtime small = *whole_table();
  small.host_memory = nullptr;
  small.host_registration = nullptr;
  use(&small);
  void* ptr = opened();
  EXPECT_TRUE(ok(fill(0, after(ptr, 60), 4)));
  EXPECT_EQ(fill(0, after(ptr, 60), 5), OUTBACK_INVALID_ARGUMENT);
  EXPECT_THAT(text_of(table_), HasSubstr("the range is in no memory")) << "the runtime's own words";
  EXPECT_THAT(leaks(table_), HasSubstr(at(ptr) + ", of unknown size, object 1\n"));
  EXPECT_TRUE(ok(close(ptr)));
}

TEST_F(IpcTest, AHandleIsWhole) {
  void* ptr = nullptr;
  outback_event e = nullptr;
  expect_refused([&] { return t_.ipc->open_memory(self_, 0, nullptr, &ptr); },
                 "ipc.open_memory: handle is null: expected a pointer");
  handle_.struct_size = 8;
  expect_refused([&] { return open(&ptr); },
                 "ipc.open_memory: handle->struct_size is 8: expected the size of the whole "
                 "struct, 128");
  handle_.struct_size = sizeof(handle_);
  handle_.size = 113;
  expect_refused([&] { return open(&ptr); },
                 "ipc.open_memory: handle->size is 113: expected at most 112");
  expect_refused([&] { return t_.ipc->open_event(self_, 0, &handle_, &e); },
                 "ipc.open_event: handle->size is 113: expected at most 112");
}

TEST_F(IpcTest, ALostDevicesMemoryIsNoLeak) {
  opened();
  set_faults(injected_, {{.slot = "device_sync", .status = OUTBACK_DEVICE_LOST}});
  EXPECT_EQ(t_.device_sync(self_, 0), OUTBACK_DEVICE_LOST);
  EXPECT_EQ(leaks(table_), "");
}

// ---- Events

TEST_F(IpcTest, AnEventOfSeveralProcessesHasNoTime) {
  outback_event made = nullptr;
  for (const uint32_t flags : {5, 7}) {
    expect_refused([&] { return t_.events->create(self_, 0, flags, &made); },
                   "events.create: flags is " + std::to_string(flags) +
                       ": expected a sum of OUTBACK_EVENT_TIMING, _BLOCKING and _INTERPROCESS, and "
                       "not both _TIMING and _INTERPROCESS");
  }
}

TEST_F(IpcTest, ANewHandleNeedsRoomForAllOfIt) {
  void* ptr = memory();
  outback_event e = event(0, OUTBACK_EVENT_INTERPROCESS);
  handle_.struct_size = sizeof(handle_) - 1;
  const std::string refusal =
      ": handle->struct_size is 127: expected the size of the whole struct, 128";
  expect_refused([&] { return t_.ipc->get_memory(self_, 0, ptr, &handle_); },
                 "ipc.get_memory" + refusal);
  expect_refused([&] { return t_.ipc->get_event(self_, 0, e, &handle_); },
                 "ipc.get_event" + refusal);
}

TEST_F(IpcTest, AnEventHasToBeMadeForIt) {
  handle_.struct_size = sizeof(handle_);
  const auto get_event = [&](outback_event e) { return t_.ipc->get_event(self_, 0, e, &handle_); };
  for (const uint32_t flags : {0, 1, 2, 3}) {
    outback_event e = event(0, flags);
    expect_refused([&] { return get_event(e); },
                   "ipc.get_event: event is " + at(e) + ", created with flags " +
                       std::to_string(flags) +
                       ": expected one created with OUTBACK_EVENT_INTERPROCESS");
  }
  EXPECT_TRUE(ok(get_event(event(0, 4))));
  EXPECT_TRUE(ok(get_event(event(0, 6))));
}

TEST_F(IpcTest, AnOpenedEventGoesToDestroy) {
  outback_event e = nullptr, theirs = nullptr;
  handle_.struct_size = sizeof(handle_);
  ASSERT_EQ(other_->events->create(other_->self, 0, OUTBACK_EVENT_INTERPROCESS, &theirs),
            OUTBACK_OK);
  ASSERT_EQ(other_->ipc->get_event(other_->self, 0, theirs, &handle_), OUTBACK_OK);
  ASSERT_TRUE(ok(t_.ipc->open_event(self_, 1, &handle_, &e)));
  EXPECT_TRUE(ok(t_.events->query(self_, 1, e)));
  EXPECT_EQ(leaks(table_),
            "outback: never freed or destroyed:\n  1 opened event of device 1:\n"
            "    " +
                at(e) + ", object 1\n");
  EXPECT_TRUE(ok(t_.events->destroy(self_, 1, e)));
  EXPECT_EQ(leaks(table_), "");
}

}  // namespace
}  // namespace outback::layers
