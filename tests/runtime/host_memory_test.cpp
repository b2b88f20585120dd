// The host runtime's budgets, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/detail/large_copy.hpp"

namespace outback::host {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class HostMemoryTest : public testing::Test {
 protected:
  template <class Error, class Call>
  static std::string refusal(Call&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }

  std::size_t used(int32_t device) {
    const memory_amount amount = host_.memory_usage(device);
    return amount.total - amount.free;
  }

  host_runtime host_{{.devices = 2, .memory_size = 1 << 20}};
};

TEST_F(HostMemoryTest, TheLimitIsTheDevicesAndTheTextHasTheNumbers) {
  void* half = host_.mem_alloc(0, 1 << 19);
  EXPECT_THAT(
      refusal<out_of_memory>([&] { host_.mem_alloc(0, (1 << 19) + 1); }),
      AllOf(HasSubstr("device 0"), HasSubstr("524352"), HasSubstr("524288 free of 1048576")));
  void* all = host_.mem_alloc(1, 1 << 20);  // the other device has its own
  void* rest = host_.mem_alloc(0, 1 << 19);
  EXPECT_NE(refusal<out_of_memory>([&] { host_.mem_alloc(0, 1); }), "accepted");
  host_.mem_free(0, half);
  host_.mem_free(0, rest);
  host_.mem_free(1, all);
  EXPECT_EQ(used(0), 0u);
  EXPECT_EQ(used(1), 0u);
  host_.mem_free(0, host_.mem_alloc(0, 1 << 20));
}

TEST_F(HostMemoryTest, ARefusedAllocationTakesNothing) {
  EXPECT_THROW(host_.mem_alloc(0, 2 << 20), out_of_memory);
  EXPECT_THROW(host_.mem_alloc(0, SIZE_MAX), out_of_memory);
  EXPECT_EQ(used(0), 0u);
}

TEST_F(HostMemoryTest, WhatIsFreedGivesBackAllThatItTook) {
  for (const std::size_t size : {1, 63, 65, 1000}) host_.mem_free(0, host_.mem_alloc(0, size));
  EXPECT_EQ(used(0), 0u);
}

// More than the machine has, though the device's budget would allow it.
TEST_F(HostMemoryTest, TheHostsOwnLimitIsOutOfMemoryToo) {
  host_runtime boundless({.devices = 1, .memory_size = UINT64_MAX});
  EXPECT_NE(refusal<out_of_memory>([&] { boundless.mem_alloc(0, SIZE_MAX / 2); }), "accepted");
  EXPECT_EQ(boundless.memory_usage(0).free, SIZE_MAX);
}

TEST_F(HostMemoryTest, OnlyTheOwnerFrees) {
  auto* ptr = static_cast<std::byte*>(host_.mem_alloc(0, 256));
  void* pinned = host_.host_alloc(256);
  std::array<std::byte, 64> stranger;
  EXPECT_THAT(refusal<invalid_argument>([&] { host_.mem_free(1, ptr); }),
              HasSubstr("memory of device 0"));
  EXPECT_THAT(refusal<invalid_argument>([&] { host_.host_free(ptr); }),
              HasSubstr("memory of device 0"));
  EXPECT_THAT(refusal<invalid_argument>([&] { host_.mem_free(0, pinned); }),
              HasSubstr("pinned host memory"));
  EXPECT_NE(refusal<invalid_argument>([&] { host_.mem_free(0, ptr + 64); }), "accepted");
  EXPECT_NE(refusal<invalid_argument>([&] { host_.mem_free(0, stranger.data()); }), "accepted");
  EXPECT_NE(refusal<invalid_argument>([&] { host_.host_free(stranger.data()); }), "accepted");
  EXPECT_EQ(used(0), 256u);
  host_.mem_free(0, ptr);
  host_.host_free(pinned);
  EXPECT_THAT(refusal<invalid_argument>([&] { host_.mem_free(0, ptr); }),
              HasSubstr("freed already"));
  EXPECT_EQ(used(0), 0u);
}

TEST_F(HostMemoryTest, PinnedMemoryIsOfNoBudget) {
  void* pinned = host_.host_alloc(4 << 20);
  EXPECT_EQ(used(0), 0u);
  host_.host_free(pinned);
}

TEST_F(HostMemoryTest, PointersAreKnownUpToTheirLastByte) {
  auto* ptr = static_cast<std::byte*>(host_.mem_alloc(1, 100));
  EXPECT_EQ(host_.host_info(ptr + 99).base, ptr);
  EXPECT_EQ(host_.host_info(ptr + 99).size, 100u);
  EXPECT_EQ(host_.host_info(ptr + 99).device, 1);
  EXPECT_EQ(host_.host_info(ptr + 100).device, OUTBACK_HOST);
  EXPECT_EQ(host_.host_info(ptr + 100).base, nullptr);
  host_.mem_free(1, ptr);
  EXPECT_EQ(host_.host_info(ptr).device, OUTBACK_HOST);
}

TEST_F(HostMemoryTest, ADeviceIsActiveOnceUsed) {
  EXPECT_FALSE(host_.device_is_active(0));
  host_.device_select(0);
  host_.device_info(0);
  host_.device_sync(0);
  EXPECT_FALSE(host_.device_is_active(0));
  host_.mem_free(0, host_.mem_alloc(0, 1));
  EXPECT_TRUE(host_.device_is_active(0));
  EXPECT_FALSE(host_.device_is_active(1));
  host_.stream_destroy(1, host_.stream_create(1, 0));
  EXPECT_TRUE(host_.device_is_active(1));
}

TEST_F(HostMemoryTest, StreamsAndEventsBelongToTheirDevice) {
  const outback_stream stream = host_.stream_create(1, 0);
  const outback_event event = host_.event_create(1, 0);
  std::array<std::byte, 64> data;
  EXPECT_THAT(refusal<invalid_argument>([&] { host_.stream_sync(0, stream); }),
              HasSubstr("of device 1"));
  EXPECT_THAT(refusal<invalid_argument>([&] { host_.stream_query(0, stream); }),
              HasSubstr("of device 1"));
  EXPECT_NE(refusal<invalid_argument>([&] { host_.stream_destroy(0, stream); }), "accepted");
  EXPECT_NE(refusal<invalid_argument>([&] { host_.mem_fill(0, data.data(), 64, "\0", 1, stream); }),
            "accepted");
  // The source's device says whose stream it is, unless the source is the host.
  EXPECT_NE(
      refusal<invalid_argument>([&] { host_.mem_copy(&data[0], 1, &data[32], 0, 32, stream); }),
      "accepted");
  host_.mem_copy(&data[0], 0, &data[32], 1, 32, stream);
  host_.mem_copy(&data[0], 1, &data[32], OUTBACK_HOST, 32, stream);
  EXPECT_THAT(refusal<invalid_argument>([&] { host_.event_record(0, event, nullptr); }),
              HasSubstr("of device 1"));
  EXPECT_THAT(refusal<invalid_argument>([&] { host_.event_destroy(0, event); }),
              HasSubstr("of device 1"));
  EXPECT_NE(
      refusal<invalid_argument>([&] { host_.event_record(1, event, host_.stream_create(0, 0)); }),
      "accepted");
  host_.event_wait(0, event, nullptr);  // another device may wait for it
  host_.event_destroy(1, event);
}

// As on a device with memory of its own: what is not an allocation of that device is refused, part
// of it too.
TEST_F(HostMemoryTest, WithoutAddressesHostRangesAreChecked) {
  host_runtime apart(
      {.devices = 2, .memory_size = 1 << 20, .host_addressable = false, .addresses_host = false});
  auto* a = static_cast<std::byte*>(apart.mem_alloc(0, 100));
  auto* b = static_cast<std::byte*>(apart.mem_alloc(1, 100));
  std::vector<std::byte> host(200);
  apart.mem_copy(a, 0, host.data(), OUTBACK_HOST, 100, nullptr);
  apart.mem_copy(b + 50, 1, a + 50, 0, 50, nullptr);
  apart.mem_fill(1, b + 99, 1, "\0", 1, nullptr);
  const auto refused = [&](auto&& call) {
    EXPECT_THAT(refusal<invalid_argument>(call), HasSubstr("one allocation of device"));
  };
  refused([&] { apart.mem_copy(host.data(), OUTBACK_HOST, a, 0, 101, nullptr); });
  refused([&] { apart.mem_copy(host.data(), OUTBACK_HOST, a, 1, 100, nullptr); });
  refused([&] { apart.mem_copy(a, 1, b, 1, 100, nullptr); });
  refused([&] { apart.mem_copy(host.data(), 0, b, 1, 100, nullptr); });
  refused([&] { apart.mem_fill(0, a + 1, 100, "\0", 1, nullptr); });
  refused([&] { apart.mem_fill(0, host.data(), 1, "\0", 1, nullptr); });
  refused([&] { apart.mem_fill(0, a - 1, 1, "\0", 1, nullptr); });
}

TEST(LargeCopyTest, CopiesAllOfItAndNothingBeside) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  // Whole, in pieces, and past the caches.
  for (const std::size_t size : {std::size_t{4095}, mebibyte, 3 * mebibyte + 77, 16 * mebibyte - 1,
                                 16 * mebibyte, 16 * mebibyte + 8191}) {
    std::vector<unsigned char> from(size + 64);
    for (std::size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<unsigned char>(i * 31 % 251);
    for (const std::size_t shift : {0, 1, 16, 63}) {
      std::vector<unsigned char> to(size + 192, 0xee);
      unsigned char* const begin = to.data() + 64 + shift;
      copy_memory(begin, from.data() + 64 - shift, size);
      EXPECT_EQ(std::memcmp(begin, from.data() + 64 - shift, size), 0) << size << ", " << shift;
      EXPECT_TRUE(std::all_of(to.data(), begin, [](unsigned char each) { return each == 0xee; }));
      EXPECT_TRUE(std::all_of(begin + size, to.data() + to.size(),
                              [](unsigned char each) { return each == 0xee; }));
    }
  }
}

}  // namespace
}  // namespace outback::host
