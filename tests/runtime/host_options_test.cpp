// The environment of the host runtime: good values, and how bad ones are refused.
#include "backend_template/runtimes/host/host_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "backend_template/runtimes/host/host.h"
#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/table_check.hpp"

namespace outback::host {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* variables[] = {"OUTBACK_HOST_DEVICES",     "OUTBACK_HOST_MEMORY",
                                     "OUTBACK_HOST_ADDRESSABLE", "OUTBACK_HOST_PROTECTED",
                                     "OUTBACK_HOST_ADVERSARIAL", "OUTBACK_HOST_FAIL_WORK"};

class HostOptionsTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : variables) unsetenv(name);
  }
  void TearDown() override { SetUp(); }

  static host_options with(const char* name, const char* value) {
    setenv(name, value, 1);
    return options_from_environment();
  }
  static std::string refusal(const char* name, const char* value) {
    try {
      with(name, value);
    } catch (const invalid_argument& error) {
      unsetenv(name);
      return error.what();
    }
    return "accepted";
  }
};

TEST_F(HostOptionsTest, DefaultsWithoutVariables) {
  const host_options options = options_from_environment();
  EXPECT_EQ(options.devices, 2);
  EXPECT_EQ(options.memory_size, 0u);
  EXPECT_TRUE(options.host_addressable);
  EXPECT_TRUE(options.addresses_host);
}

TEST_F(HostOptionsTest, AnEmptyVariableIsNone) {
  for (const char* name : variables) setenv(name, "", 1);
  EXPECT_EQ(options_from_environment().devices, 2);
  EXPECT_TRUE(options_from_environment().host_addressable);
}

TEST_F(HostOptionsTest, Devices) {
  EXPECT_EQ(with("OUTBACK_HOST_DEVICES", "0").devices, 0);
  EXPECT_EQ(with("OUTBACK_HOST_DEVICES", "5").devices, 5);
  EXPECT_EQ(with("OUTBACK_HOST_DEVICES", "64").devices, 64);
}

TEST_F(HostOptionsTest, BadDevicesAreRefusedWithTheVariableAndTheRange) {
  for (const char* value :
       {"-1", "+2", " 2", "2 ", "65", "two", "2x", "1.5", "0x2", "99999999999999999999"}) {
    EXPECT_THAT(
        refusal("OUTBACK_HOST_DEVICES", value),
        AllOf(HasSubstr(std::string("OUTBACK_HOST_DEVICES=") + value), HasSubstr("0 to 64")));
  }
}

TEST_F(HostOptionsTest, Memory) {
  EXPECT_EQ(with("OUTBACK_HOST_MEMORY", "1").memory_size, 1u);
  EXPECT_EQ(with("OUTBACK_HOST_MEMORY", "4096").memory_size, 4096u);
  EXPECT_EQ(with("OUTBACK_HOST_MEMORY", "3K").memory_size, 3072u);
  EXPECT_EQ(with("OUTBACK_HOST_MEMORY", "512M").memory_size, uint64_t{512} << 20);
  EXPECT_EQ(with("OUTBACK_HOST_MEMORY", "16g").memory_size, uint64_t{16} << 30);
}

TEST_F(HostOptionsTest, BadMemoryIsRefusedWithTheVariable) {
  for (const char* value : {"0", "0G", "-1", "M", "1.5G", "1GB", "1 G", "1T", "K1",
                            "99999999999999999999", "99999999999999999G"}) {
    EXPECT_THAT(refusal("OUTBACK_HOST_MEMORY", value),
                AllOf(HasSubstr(std::string("OUTBACK_HOST_MEMORY=") + value), HasSubstr("bytes")));
  }
}

TEST_F(HostOptionsTest, Addressable) {
  EXPECT_TRUE(with("OUTBACK_HOST_ADDRESSABLE", "1").host_addressable);
  EXPECT_FALSE(with("OUTBACK_HOST_ADDRESSABLE", "0").host_addressable);
  EXPECT_FALSE(with("OUTBACK_HOST_ADDRESSABLE", "0").addresses_host);
  EXPECT_THAT(refusal("OUTBACK_HOST_ADDRESSABLE", "no"), HasSubstr("expected 0 or 1"));
  const host_options guarded = with("OUTBACK_HOST_PROTECTED", "1");
  EXPECT_TRUE(guarded.protected_memory && !guarded.host_addressable && !guarded.addresses_host);
  EXPECT_FALSE(with("OUTBACK_HOST_PROTECTED", "0").protected_memory);
  EXPECT_TRUE(with("OUTBACK_HOST_PROTECTED", "0").host_addressable);
  EXPECT_THAT(refusal("OUTBACK_HOST_PROTECTED", "yes"), HasSubstr("expected 0 or 1"));
}

TEST_F(HostOptionsTest, Adversarial) {
  EXPECT_EQ(options_from_environment().adversarial, 0u);
  EXPECT_EQ(with("OUTBACK_HOST_ADVERSARIAL", "0").adversarial, 0u);
  EXPECT_EQ(with("OUTBACK_HOST_ADVERSARIAL", "18446744073709551615").adversarial, ~uint64_t{0});
  for (const char* value : {"-1", "yes", "18446744073709551616", "1 "}) {
    EXPECT_THAT(refusal("OUTBACK_HOST_ADVERSARIAL", value),
                AllOf(HasSubstr(std::string("OUTBACK_HOST_ADVERSARIAL=") + value),
                      HasSubstr("a number from 0")));
  }
}

TEST_F(HostOptionsTest, FailWork) {
  EXPECT_EQ(options_from_environment().fail_work, 0u);
  EXPECT_EQ(with("OUTBACK_HOST_FAIL_WORK", "3").fail_work, 3u);
  EXPECT_THAT(refusal("OUTBACK_HOST_FAIL_WORK", "-1"), HasSubstr("OUTBACK_HOST_FAIL_WORK=-1"));
}

TEST_F(HostOptionsTest, TheDefaultMemoryIsAnEqualShare) {
  const uint64_t of_one = memory_size_of({.devices = 1}), of_four = memory_size_of({.devices = 4});
  EXPECT_GE(of_four, uint64_t{1} << 20);
  EXPECT_NEAR(double(of_one) / double(of_four), 4, 0.01);
  EXPECT_EQ(memory_size_of({.devices = 4, .memory_size = 77}), 77u);
}

TEST_F(HostOptionsTest, DevicesShowTheirOptions) {
  host_runtime whole({.devices = 1, .memory_size = 4096});
  const outback_device_info info = whole.device_info(0);
  EXPECT_EQ(info.flags, OUTBACK_HOST_ADDRESSABLE | OUTBACK_ADDRESSES_HOST | OUTBACK_INTEGRATED);
  EXPECT_EQ(info.kernels_of, 1);
  EXPECT_EQ(info.memory_size, 4096u);

  host_runtime apart({.devices = 1, .host_addressable = false, .addresses_host = false});
  EXPECT_EQ(apart.device_info(0).flags, 0u);
  EXPECT_EQ(apart.device_info(0).kernels_of, 0);

  EXPECT_EQ(host_runtime({.devices = 0}).device_count(), 0);
  EXPECT_THROW(host_runtime({.devices = -1}), invalid_argument);
  EXPECT_THROW(host_runtime({.devices = max_devices + 1}), invalid_argument);
}

// The process's one instance is made once, so each variant is a process of its own: a death test's
// child.
class HostProcessTest : public HostOptionsTest {
 protected:
  void SetUp() override {
    HostOptionsTest::SetUp();
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
  }

  // Exits with 0 if every slot fails and explains it with `variable`; says on stderr what did not.
  [[noreturn]] static void exit_if_refused(const std::string& variable) {
    const outback_runtime* t = outback_host_runtime();
    if (outback::table_problem(t).find(variable) == std::string::npos) {
      fprintf(stderr, "table_problem: %s\n", outback::table_problem(t).c_str());
      std::_Exit(1);
    }
    const auto refused = [&](const char* slot, outback_status status) {
      const std::string text = t->last_error(t->self);
      if (status == OUTBACK_INVALID_ARGUMENT && text.find(variable) != std::string::npos) return;
      fprintf(stderr, "%s: status %d: %s\n", slot, status, text.c_str());
      std::_Exit(1);
    };
    int32_t count = 0;
    outback_device_info info = {};
    info.struct_size = sizeof(info);
    void* ptr = nullptr;
    outback_stream stream = nullptr;
    int64_t ns = 0;
    refused("device_count", t->device_count(t->self, &count));
    refused("device_info", t->device_info(t->self, 0, &info));
    refused("device_sync", t->device_sync(t->self, 0));
    refused("mem_alloc", t->mem_alloc(t->self, 0, 1, &ptr));
    refused("host_alloc", t->host_memory->alloc(t->self, 1, &ptr));
    refused("stream_create", t->streams->create(t->self, 0, 0, &stream));
    const auto event = reinterpret_cast<outback_event>(&ns);
    refused("event_elapsed", t->events->elapsed(t->self, event, event, &ns));
    std::_Exit(0);
  }
};

TEST_F(HostProcessTest, ABadVariableFailsEverySlotAndSaysSo) {
  EXPECT_EXIT(
      {
        setenv("OUTBACK_HOST_MEMORY", "lots", 1);
        exit_if_refused("OUTBACK_HOST_MEMORY=lots");
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(HostProcessTest, TheInstanceIsMadeFromTheEnvironment) {
  EXPECT_EXIT(
      {
        setenv("OUTBACK_HOST_DEVICES", "3", 1);
        int32_t count = 0;
        const outback_runtime* t = outback_host_runtime();
        const bool good = t->device_count(t->self, &count) == OUTBACK_OK && count == 3 &&
                          t == outback_host_runtime();
        std::_Exit(good ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace outback::host
