// Device memory that the CPU cannot touch, and what it is told when it tries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "backend_template/runtimes/host/host.h"
#include "backend_template/runtimes/host/host_runtime.hpp"

namespace outback::host {
namespace {

using testing::HasSubstr;

constexpr host_options options{.devices = 2,
                               .memory_size = 1 << 20,
                               .host_addressable = false,
                               .addresses_host = false,
                               .protected_memory = true};

class ProtectedDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static uint8_t touch(const void* ptr) { return *static_cast<const volatile uint8_t*>(ptr); }
};

TEST_F(ProtectedDeathTest, AReadOrAWriteFaultsAndSaysSo) {
  host_runtime host(options);
  auto* ptr = static_cast<uint8_t*>(host.mem_alloc(0, 100));
  EXPECT_DEATH(touch(ptr + 99), "the CPU touched device memory that it cannot address");
  EXPECT_DEATH(std::memset(ptr, 0, 1), "in an unknown operator");
  host.mem_free(0, ptr);
}

TEST_F(ProtectedDeathTest, TheCallersNameIsInTheReport) {
  outback_host_runtime_describe_caller([] { return "acme::peek"; });
  host_runtime host(options);
  void* ptr = host.mem_alloc(1, 1);
  EXPECT_DEATH(touch(ptr), "cannot address, in acme::peek");
  host.mem_free(1, ptr);
  outback_host_runtime_describe_caller(nullptr);
}

TEST_F(ProtectedDeathTest, FreedMemoryGoesOnFaulting) {
  host_runtime host(options);
  void* ptr = host.mem_alloc(0, 64);
  host.mem_free(0, ptr);
  EXPECT_DEATH(touch(ptr), "the CPU touched device memory");
}

TEST_F(ProtectedDeathTest, OtherFaultsAreNotItsBusiness) {
  host_runtime host(options);
  volatile uintptr_t nowhere = 8;
  EXPECT_DEATH(touch(reinterpret_cast<const void*>(nowhere)),
               testing::Not(HasSubstr("the CPU touched")));
}

TEST_F(ProtectedDeathTest, ASignalThatIsSentIsNotItsBusiness) {
  host_runtime host(options);
  EXPECT_DEATH(raise(SIGSEGV), testing::Not(HasSubstr("the CPU touched")));
}

TEST(ProtectedAddressesTest, ItCannotBeHostAddressable) {
  EXPECT_THROW(
      host_runtime({.host_addressable = true, .addresses_host = false, .protected_memory = true}),
      invalid_argument);
}

TEST(ProtectedAddressesTest, ARangeBeyondTheAddressesIsRefused) {
  host_options large = options;
  large.memory_size = UINT64_MAX;
  host_runtime host(large);
  EXPECT_THROW(host.mem_alloc(0, (std::size_t{128} << 30) - 1), out_of_memory);
}

TEST(ProtectedAddressesTest, NoAddressIsHandedOutTwice) {
  host_runtime host(options);
  std::set<void*> seen;
  for (int i = 0; i < 1000; ++i) {
    void* ptr = host.mem_alloc(0, 4096);
    EXPECT_TRUE(seen.insert(ptr).second);
    host.mem_free(0, ptr);
  }
}

TEST(ProtectedAddressesTest, CopiesAndFillsGetAtIt) {
  host_runtime host(options);
  std::vector<uint8_t> sent(5000);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = uint8_t(i);
  void* first = host.mem_alloc(0, sent.size());
  void* second = host.mem_alloc(1, sent.size());
  host.mem_copy(first, 0, sent.data(), OUTBACK_HOST, sent.size(), nullptr);
  const uint8_t pattern = 7;
  host.mem_fill(0, static_cast<uint8_t*>(first) + 10, 20, &pattern, 1, nullptr);
  host.mem_copy(second, 1, first, 0, sent.size(), nullptr);
  host.device_sync(0);
  std::vector<uint8_t> received(sent.size());
  host.mem_copy(received.data(), OUTBACK_HOST, second, 1, received.size(), nullptr);
  host.device_sync(1);
  std::fill(sent.begin() + 10, sent.begin() + 30, pattern);
  EXPECT_EQ(received, sent);
  host.mem_free(0, first);
  host.mem_free(1, second);
}

TEST(ProtectedAddressesTest, AllRuntimesShareThem) {
  std::vector<std::unique_ptr<host_runtime>> hosts;
  std::set<void*> seen;
  for (int i = 0; i < 5; ++i) {
    hosts.push_back(std::make_unique<host_runtime>(options));
    EXPECT_TRUE(seen.insert(hosts.back()->mem_alloc(0, 4096)).second);
  }
  hosts.clear();
  EXPECT_FALSE(seen.contains(host_runtime(options).mem_alloc(0, 4096)));
}

}  // namespace
}  // namespace outback::host
