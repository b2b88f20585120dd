// Each thing that a caller can do wrong is refused with its text, and the runtime never hears of
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "tests/layers/validation_testing.hpp"

namespace outback::layers {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ValidationTest : public validation_test {
 protected:
  void SetUp() override { use(host_table()); }
};

TEST_F(ValidationTest, ADeviceThatThereIsNot) {
  void* ptr = nullptr;
  expect_refused([&] { return t_.mem_alloc(self_, 2, 64, &ptr); },
                 "mem_alloc: device is 2: expected a device from 0 to 1");
  expect_refused([&] { return t_.streams->sync(self_, -1, nullptr); },
                 "streams.sync: device is -1: expected a device from 0 to 1");
  void* data = memory();
  std::byte host[64] = {};
  expect_refused([&] { return t_.mem_copy(self_, host, 5, data, 0, 64, nullptr); },
                 "mem_copy: dst_device is 5: expected a device from 0 to 1");
  use(host_table(true, 1));
  expect_refused([&] { return t_.device_sync(self_, 1); },
                 "device_sync: device is 1: expected 0, the only device");
  use(host_table(true, 0));
  expect_refused([&] { return t_.device_sync(self_, 0); },
                 "device_sync: device is 0: expected nothing, as there are no devices: there is no "
                 "device 0: there are no devices");  // the runtime's own words
}

TEST_F(ValidationTest, NullOutputs) {
  expect_refused([&] { return t_.device_count(self_, nullptr); },
                 "device_count: count is null: expected a place for the result");
  expect_refused([&] { return t_.events->create(self_, 0, 0, nullptr); },
                 "events.create: event is null: expected a place for the result");
  int32_t least = 0;
  expect_refused([&] { return t_.streams->priorities(self_, 0, &least, nullptr); },
                 "streams.priorities: greatest is null: expected a place for the result");
}

TEST_F(ValidationTest, AStructWithoutASize) {
  outback_device_info info = {};
  expect_refused([&] { return t_.device_info(self_, 0, &info); },
                 "device_info: info->struct_size is 0: expected the size of the caller's struct");
  outback_pointer_info pointer = {};
  pointer.struct_size = 0xcccccccc;
  expect_refused([&] { return t_.host_memory->info(self_, nullptr, &pointer); },
                 "host_memory.info: info->struct_size is 3435973836: expected the size of the "
                 "caller's struct");
}

TEST_F(ValidationTest, PatternsAndSizes) {
  void* ptr = memory();
  expect_refused([&] { return fill(0, ptr, 63, 3); },
                 "mem_fill: pattern_size is 3: expected 1, 2, 4 or 8");
  expect_refused([&] { return fill(0, ptr, 30, 4); },
                 "mem_fill: size is 30: expected a multiple of pattern_size, 4");
  expect_refused([&] { return t_.mem_fill(self_, 0, ptr, 64, nullptr, 1, nullptr); },
                 "mem_fill: pattern is null: expected a pointer");
  expect_refused([&] { return fill(0, nullptr, 64); },
                 "mem_fill: ptr is null, 64 bytes: expected memory of device 0");
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  expect_refused([&] { return fill(0, ptr, most); },
                 "mem_fill: ptr is " + at(ptr) + ", " + std::to_string(most) +
                     " bytes: expected a range within the addresses that there are");
}

TEST_F(ValidationTest, BothSidesOfACopyOnTheHost) {
  std::byte host[128] = {};
  expect_refused(
      [&] { return t_.mem_copy(self_, host, OUTBACK_HOST, host + 64, OUTBACK_HOST, 8, nullptr); },
      "mem_copy: src_device is the host, as dst_device is: expected a device on one side at "
      "least");
}

TEST_F(ValidationTest, ACopyThatOverlaps) {
  void* ptr = memory();
  expect_refused([&] { return t_.mem_copy(self_, after(ptr, 8), 0, ptr, 0, 9, nullptr); },
                 "mem_copy: dst is " + at(after(ptr, 8)) +
                     ", 9 bytes: expected a range that does not overlap src, " + at(ptr));
  EXPECT_EQ(t_.mem_copy(self_, after(ptr, 8), 0, ptr, 0, 8, nullptr), OUTBACK_OK);
}

TEST_F(ValidationTest, ARangeBeyondItsAllocation) {
  for (const bool addresses_host : {false, true}) {
    use(host_table(addresses_host));
    void* ptr = memory();
    expect_refused([&] { return fill(0, after(ptr, 8), 57); },
                   "mem_fill: ptr is " + at(after(ptr, 8)) +
                       ", 57 bytes: expected no more than is left of an allocation of device 0, "
                       "64 bytes from " +
                       at(ptr) + " on (object 1)");
    EXPECT_EQ(fill(0, after(ptr, 8), 56), OUTBACK_OK) << text_of(table_);
  }
}

TEST_F(ValidationTest, PinnedMemoryIsNotReadBeyondItsEnd) {
  void *host = pinned(), *ptr = memory(0, 128);
  expect_refused([&] { return t_.mem_copy(self_, ptr, 0, host, OUTBACK_HOST, 65, nullptr); },
                 "mem_copy: src is " + at(host) +
                     ", 65 bytes: expected no more than is left of pinned host memory, 64 bytes "
                     "from " +
                     at(host) + " on (object 1)");
}

TEST_F(ValidationTest, AnotherDevicesMemory) {
  for (const bool addresses_host : {false, true}) {
    use(host_table(addresses_host));
    void* ptr = memory(1);
    const std::string there =
        "an allocation of device 1, 64 bytes from " + at(ptr) + " on (object 1)";
    expect_refused([&] { return fill(0, ptr, 8); },
                   "mem_fill: ptr is " + at(ptr) +
                       ", 8 bytes: expected all of it in an allocation of device 0; it is in " +
                       there);
    expect_refused([&] { return t_.mem_free(self_, 0, ptr); },
                   "mem_free: ptr is " + at(ptr) +
                       ": expected the beginning of an allocation of device 0; it is " + there);
  }
}

TEST_F(ValidationTest, DeviceMemoryThatIsSaidToBeTheHosts) {
  void *ptr = memory(0), *other = memory(1);
  expect_refused([&] { return t_.mem_copy(self_, other, 1, ptr, OUTBACK_HOST, 8, nullptr); },
                 "mem_copy: src is " + at(ptr) +
                     ", 8 bytes: expected host memory; it is in an allocation of device 0, 64 "
                     "bytes from " +
                     at(ptr) + " on (object 1)");
}

TEST_F(ValidationTest, HostMemoryThatIsSaidToBeADevices) {
  std::byte host[64] = {};
  expect_refused([&] { return fill(0, host, 8); },
                 "mem_fill: ptr is " + at(host) +
                     ", 8 bytes: expected all of it in an allocation of device 0; it is in none");
  use(host_table(true));
  EXPECT_EQ(fill(0, host, 8), OUTBACK_OK) << "this device addresses the host's memory";
}

TEST_F(ValidationTest, UseAfterFree) {
  void* ptr = memory();
  ASSERT_EQ(t_.mem_free(self_, 0, ptr), OUTBACK_OK);
  expect_refused([&] { return fill(0, after(ptr, 8), 8); },
                 "mem_fill: ptr is " + at(after(ptr, 8)) +
                     ", 8 bytes: expected all of it in an allocation of device 0; it was freed "
                     "(object 1)");
}

TEST_F(ValidationTest, DoubleFree) {
  void *ptr = memory(), *host = pinned();
  ASSERT_EQ(t_.mem_free(self_, 0, ptr), OUTBACK_OK);
  ASSERT_EQ(t_.host_memory->free(self_, host), OUTBACK_OK);
  expect_refused([&] { return t_.mem_free(self_, 0, ptr); },
                 "mem_free: ptr is " + at(ptr) +
                     ": expected the beginning of an allocation of device 0; it was freed "
                     "already (object 1)");
  expect_refused([&] { return t_.host_memory->free(self_, host); },
                 "host_memory.free: ptr is " + at(host) +
                     ": expected the beginning of pinned host memory; it was freed already "
                     "(object 2)");
}

TEST_F(ValidationTest, FreeingWhatIsNoAllocation) {
  void *ptr = memory(), *host = pinned();
  int local = 0;
  expect_refused([&] { return t_.mem_free(self_, 0, &local); },
                 "mem_free: ptr is " + at(&local) +
                     ": expected the beginning of an allocation of device 0; it is none of this "
                     "runtime's");
  expect_refused([&] { return t_.mem_free(self_, 0, after(ptr, 8)); },
                 "mem_free: ptr is " + at(after(ptr, 8)) +
                     ": expected the beginning of an allocation of device 0; it points into an "
                     "allocation of device 0, 64 bytes from " +
                     at(ptr) + " on (object 1)");
  expect_refused([&] { return t_.mem_free(self_, 0, host); },
                 "mem_free: ptr is " + at(host) +
                     ": expected the beginning of an allocation of device 0; it is pinned host "
                     "memory, 64 bytes from " +
                     at(host) + " on (object 2)");
}

TEST_F(ValidationTest, AnAddressThatIsGivenOutAgainIsAlive) {
  use(host_table(true));
  for (int i = 0; i < 1000; ++i) {
    void* ptr = memory();
    EXPECT_EQ(fill(0, ptr, 64), OUTBACK_OK) << text_of(table_);
    EXPECT_EQ(t_.mem_free(self_, 0, ptr), OUTBACK_OK) << text_of(table_);
  }
}

TEST_F(ValidationTest, StreamsThatAreNone) {
  outback_stream s = stream(1);
  auto* nonsense = reinterpret_cast<outback_stream>(this);
  expect_refused([&] { return t_.streams->query(self_, 0, nonsense); },
                 "streams.query: stream is " + at(this) +
                     ": expected one of the streams that this runtime made for device 0; it is "
                     "none");
  expect_refused([&] { return t_.streams->sync(self_, 0, s); },
                 "streams.sync: stream is " + at(s) +
                     ": expected one of the streams that this runtime made for device 0; it is "
                     "one of device 1");
  void* ptr = memory();
  expect_refused([&] { return fill(0, ptr, 8, 1, s); },
                 "mem_fill: stream is " + at(s) +
                     ": expected one of the streams that this runtime made for device 0; it is "
                     "one of device 1");
  expect_refused([&] { return t_.streams->destroy(self_, 1, nullptr); },
                 "streams.destroy: stream is null: expected one of the streams that this runtime "
                 "made for device 1");
  ASSERT_EQ(t_.streams->destroy(self_, 1, s), OUTBACK_OK);
  expect_refused([&] { return t_.streams->destroy(self_, 1, s); },
                 "streams.destroy: stream is " + at(s) +
                     ": expected one of the streams that this runtime made for device 1; it was "
                     "destroyed already");
}

// The source's stream, unless the source is the host.
TEST_F(ValidationTest, ACopyOnTheWrongSidesStream) {
  void *first = memory(0), *second = memory(1);
  outback_stream s = stream(1);
  std::byte host[64] = {};
  expect_refused([&] { return t_.mem_copy(self_, second, 1, first, 0, 8, s); },
                 "mem_copy: stream is " + at(s) +
                     ": expected one of the streams that this runtime made for device 0; it is "
                     "one of device 1");
  EXPECT_EQ(t_.mem_copy(self_, first, 0, second, 1, 8, s), OUTBACK_OK) << text_of(table_);
  EXPECT_EQ(t_.mem_copy(self_, second, 1, host, OUTBACK_HOST, 8, s), OUTBACK_OK);
  EXPECT_EQ(t_.mem_copy(self_, host, OUTBACK_HOST, second, 1, 8, s), OUTBACK_OK);
}

TEST_F(ValidationTest, EventsThatAreNone) {
  outback_event e = event(1);
  int64_t ns = 0;
  expect_refused([&] { return t_.events->record(self_, 0, e, nullptr); },
                 "events.record: event is " + at(e) +
                     ": expected one of the events that this runtime made for device 0; it is "
                     "one of device 1");
  expect_refused([&] { return t_.events->query(self_, 0, nullptr); },
                 "events.query: event is null: expected one of the events that this runtime made "
                 "for device 0");
  EXPECT_EQ(t_.events->wait(self_, 0, e, nullptr), OUTBACK_OK) << "another device may wait for it";
  ASSERT_EQ(t_.events->destroy(self_, 1, e), OUTBACK_OK);
  expect_refused([&] { return t_.events->wait(self_, 0, e, nullptr); },
                 "events.wait: event is " + at(e) +
                     ": expected one of the events that this runtime made; it was destroyed "
                     "already");
  expect_refused([&] { return t_.events->elapsed(self_, e, e, &ns); },
                 "events.elapsed: from is " + at(e) +
                     ": expected one of the events that this runtime made; it was destroyed "
                     "already");
  expect_refused([&] { return t_.events->create(self_, 0, 8, &e); },
                 "events.create: flags is 8: expected a sum of OUTBACK_EVENT_TIMING, _BLOCKING "
                 "and _INTERPROCESS, and not both _TIMING and _INTERPROCESS");
}

TEST_F(ValidationTest, TimeIsBetweenTwoEventsOfOneDeviceThatHaveATime) {
  outback_event timed = event(0), other = event(1), plain = event(0, OUTBACK_EVENT_BLOCKING);
  int64_t ns = 0;
  const std::string has_none =
      at(plain) + ", created with flags 2: expected one created with OUTBACK_EVENT_TIMING";
  expect_refused([&] { return t_.events->elapsed(self_, plain, timed, &ns); },
                 "events.elapsed: from is " + has_none);
  expect_refused([&] { return t_.events->elapsed(self_, timed, plain, &ns); },
                 "events.elapsed: to is " + has_none);
  expect_refused([&] { return t_.events->elapsed(self_, timed, other, &ns); },
                 "events.elapsed: to is " + at(other) +
                     ", of device 1: expected one of device 0, as `from` is");
}

TEST_F(ValidationTest, ALostDeviceIsNotCalledAgainAndTheOtherOneIs) {
  void* ptr = memory(0);
  outback_event e = event(0);
  set_faults(injected_, {{.slot = "device_sync", .status = OUTBACK_DEVICE_LOST}});
  EXPECT_EQ(t_.device_sync(self_, 0), OUTBACK_DEVICE_LOST);
  EXPECT_EQ(text_of(table_), "injected fault: device_sync, call 1: device_lost");
  const std::string why =
      "device 0 is lost since device_sync: injected fault: device_sync, call 1: device_lost";
  expect_refused([&] { return t_.device_sync(self_, 0); }, why, OUTBACK_DEVICE_LOST);
  expect_refused([&] { return t_.mem_free(self_, 0, ptr); }, why, OUTBACK_DEVICE_LOST);
  expect_refused([&] { return t_.events->wait(self_, 1, e, nullptr); }, why, OUTBACK_DEVICE_LOST);
  EXPECT_EQ(t_.device_sync(self_, 1), OUTBACK_OK);
  EXPECT_EQ(fill(1, memory(1), 64), OUTBACK_OK);
}

TEST_F(ValidationTest, ACopyBetweenTwoDevicesDoesNotSayWhichIsLost) {
  void *first = memory(0), *second = memory(1);
  set_faults(injected_, {{.slot = "mem_copy", .status = OUTBACK_DEVICE_LOST}});
  EXPECT_EQ(t_.mem_copy(self_, second, 1, first, 0, 8, nullptr), OUTBACK_DEVICE_LOST);
  set_faults(injected_, {});
  EXPECT_EQ(t_.device_sync(self_, 0), OUTBACK_OK);
  EXPECT_EQ(t_.device_sync(self_, 1), OUTBACK_OK);
}

TEST_F(ValidationTest, AFreeThatIsRefusedHasNotFreed) {
  void* ptr = memory();
  outback_stream s = stream();
  set_faults(injected_, {{.every = 1, .status = OUTBACK_INVALID_ARGUMENT}});
  EXPECT_EQ(t_.mem_free(self_, 0, ptr), OUTBACK_INVALID_ARGUMENT);
  EXPECT_EQ(t_.streams->destroy(self_, 0, s), OUTBACK_INVALID_ARGUMENT);
  set_faults(injected_, {});
  EXPECT_EQ(fill(0, ptr, 64, 1, s), OUTBACK_OK) << text_of(table_);
  EXPECT_EQ(t_.streams->destroy(self_, 0, s), OUTBACK_OK);
  EXPECT_EQ(t_.mem_free(self_, 0, ptr), OUTBACK_OK);
  EXPECT_EQ(leaks(table_), "");
}

TEST_F(ValidationTest, WhatAFreeFailedToFreeIsGone) {
  void* ptr = memory();
  outback_stream s = stream();
  set_faults(injected_, {{.every = 1, .status = OUTBACK_INTERNAL}});
  EXPECT_EQ(t_.mem_free(self_, 0, ptr), OUTBACK_INTERNAL);
  EXPECT_EQ(t_.streams->destroy(self_, 0, s), OUTBACK_INTERNAL);
  set_faults(injected_, {});
  EXPECT_EQ(leaks(table_), "");
  expect_refused([&] { return t_.streams->destroy(self_, 0, s); },
                 "streams.destroy: stream is " + address_text(s) +
                     ": expected one of the streams that this runtime made for device 0; it was "
                     "destroyed already");
}

TEST_F(ValidationTest, LeaksAreReported) {
  EXPECT_EQ(leaks(table_), "");
  void *ptr = memory(0, 64), *more = memory(0, 1), *host = pinned(100);
  outback_stream s = stream(1);
  outback_event e = event(0);
  EXPECT_EQ(leaks(table_),
            "outback: never freed or destroyed:\n  1 allocation of pinned host "
            "memory, 100 bytes:\n    " +
                at(host) +
                ", 100 bytes, object 3\n  2 allocations of memory of device 0, 65 "
                "bytes:\n    " +
                at(ptr) + ", 64 bytes, object 1\n    " + at(more) +
                ", 1 byte, object 2\n  1 event of device 0:\n    " + at(e) +
                ", object 5\n  1 stream of device 1:\n    " + at(s) + ", object 4\n");
  EXPECT_EQ(t_.mem_free(self_, 0, ptr), OUTBACK_OK);
  EXPECT_EQ(t_.mem_free(self_, 0, more), OUTBACK_OK);
  EXPECT_EQ(t_.host_memory->free(self_, host), OUTBACK_OK);
  EXPECT_EQ(t_.streams->destroy(self_, 1, s), OUTBACK_OK);
  EXPECT_EQ(t_.events->destroy(self_, 0, e), OUTBACK_OK);
  EXPECT_EQ(leaks(table_), "");
}

TEST_F(ValidationTest, ManyLeaksAreCountedAndTheFirstOnesTold) {
  for (int i = 0; i < 1000; ++i) memory();
  const std::string text = leaks(table_);
  EXPECT_THAT(text, HasSubstr("1000 allocations of memory of device 0, 64000 bytes"));
  EXPECT_THAT(text, HasSubstr("object 10\n    ...\n"));
  EXPECT_EQ(text.find("object 11\n"), std::string::npos);
}

TEST_F(ValidationTest, WhatALostDeviceHadIsNoLeak) {
  memory(0), stream(0), event(0), memory(1);
  set_faults(injected_, {{.slot = "device_sync", .status = OUTBACK_DEVICE_LOST}});
  EXPECT_EQ(t_.device_sync(self_, 0), OUTBACK_DEVICE_LOST);
  const std::string text = leaks(table_);
  EXPECT_THAT(text, HasSubstr("1 allocation of memory of device 1"));
  EXPECT_EQ(text.find("device 0"), std::string::npos) << text;
}

TEST_F(ValidationTest, AsksForDevicesWithoutTheFaults) {
  set_faults(injected_, {{.slot = "device_count", .status = OUTBACK_UNSUPPORTED},
                         {.slot = "device_info", .status = OUTBACK_UNSUPPORTED}});
  fill(0, memory(), 64);
  int32_t count = 0;
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(t_.device_count(self_, &count), OUTBACK_UNSUPPORTED) << "this is the first call";
  EXPECT_EQ(t_.device_info(self_, 0, &info), OUTBACK_UNSUPPORTED) << "this is the first call";
}

TEST_F(ValidationTest, OtherTablesHaveNoLeaksToTell) {
  EXPECT_THAT(refusal_of([&] { leaks(injected_); }), StartsWith("leaks: "));
  EXPECT_THAT(refusal_of([&] { leaks(nullptr); }), StartsWith("leaks: "));
  EXPECT_THAT(refusal_of([&] { validate(nullptr); }), HasSubstr("table is null"));
}

}  // namespace
}  // namespace outback::layers
