// What tests of the driver need: the real loader, opened at run time, and a fixture with a context
// on its devices.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/fakes/level_zero/software_driver.h"

namespace outback::software_ze::testing {

inline void* require_library(const char* path, int flags) {
  void* library = dlopen(path, flags);
  if (!library) throw std::runtime_error(dlerror());
  return library;
}

inline void* require_symbol(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (!symbol) throw std::runtime_error(dlerror());
  return symbol;
}

inline void* loader() {
  static void* library = require_library("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
  return library;
}

/// The driver's own library, for its controls.
inline void* driver_library() {
  static void* library =
      require_library(std::getenv("ZE_ENABLE_ALT_DRIVERS"), RTLD_NOW | RTLD_LOCAL);
  return library;
}

/// The loader's function; the driver's control.
#define ZE(name) \
  (reinterpret_cast<decltype(&name)>(testing::require_symbol(testing::loader(), #name)))
#define CONTROL(name) \
  (reinterpret_cast<decltype(&name)>(testing::require_symbol(testing::driver_library(), #name)))

#define EXPECT_SUCCESS(call) EXPECT_EQ(call, ZE_RESULT_SUCCESS)
#define ASSERT_SUCCESS(call) ASSERT_EQ(call, ZE_RESULT_SUCCESS)

inline std::string last_violation() {
  const uint64_t count = CONTROL(outback_ze_violations)();
  char text[1000] = "";
  if (count > 0) CONTROL(outback_ze_violation)(count - 1, text, sizeof text);
  return text;
}

inline constexpr uint64_t forever = UINT64_MAX;

/// A context on all devices. Violations that a test does not expect fail it.
class driver_test : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_SUCCESS(ZE(zeInit)(ZE_INIT_FLAG_GPU_ONLY));
    uint32_t count = 1;
    ASSERT_SUCCESS(ZE(zeDriverGet)(&count, &driver));
    ASSERT_SUCCESS(ZE(zeDeviceGet)(driver, &(count = 0), nullptr));
    devices.resize(count);
    ASSERT_SUCCESS(ZE(zeDeviceGet)(driver, &count, devices.data()));
    const ze_context_desc_t desc{ZE_STRUCTURE_TYPE_CONTEXT_DESC, nullptr, 0};
    ASSERT_SUCCESS(ZE(zeContextCreate)(driver, &desc, &context));
    CONTROL(outback_ze_clear_violations)();
  }

  void TearDown() override {
    CONTROL(outback_ze_resume)();
    CONTROL(outback_ze_clear_failures)();
    if (context) {
      EXPECT_SUCCESS(ZE(zeContextDestroy)(context));
    }
    EXPECT_EQ(CONTROL(outback_ze_violations)(), 0u) << last_violation();
  }

  /// The last violation so far, whose text is as said; and forgets it.
  static void expect_violation(const std::string& text) {
    EXPECT_THAT(last_violation(), ::testing::HasSubstr(text));
    CONTROL(outback_ze_clear_violations)();
  }

  ze_command_list_handle_t immediate_list(
      uint32_t flags = 0, ze_command_queue_mode_t mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
      std::size_t device = 0) {
    ze_command_queue_desc_t desc{};
    desc.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    desc.flags = flags;
    desc.mode = mode;
    ze_command_list_handle_t list = nullptr;
    EXPECT_SUCCESS(ZE(zeCommandListCreateImmediate)(context, devices.at(device), &desc, &list));
    return list;
  }

  ze_event_pool_handle_t event_pool(uint32_t count,
                                    ze_event_pool_flags_t flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                    const void* next = nullptr) {
    const ze_event_pool_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, next, flags, count};
    ze_event_pool_handle_t pool = nullptr;
    EXPECT_SUCCESS(ZE(zeEventPoolCreate)(context, &desc, 0, nullptr, &pool));
    return pool;
  }

  ze_event_handle_t event(ze_event_pool_handle_t pool, uint32_t index = 0) {
    const ze_event_desc_t desc{ZE_STRUCTURE_TYPE_EVENT_DESC, nullptr, index,
                               ZE_EVENT_SCOPE_FLAG_HOST, ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_handle_t made = nullptr;
    EXPECT_SUCCESS(ZE(zeEventCreate)(pool, &desc, &made));
    return made;
  }

  std::byte* device_memory(std::size_t size, std::size_t device = 0) {
    const ze_device_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC, nullptr, 0, 0};
    void* made = nullptr;
    EXPECT_SUCCESS(ZE(zeMemAllocDevice)(context, &desc, size, 64, devices.at(device), &made));
    return static_cast<std::byte*>(made);
  }

  std::byte* host_memory(std::size_t size) {
    const ze_host_mem_alloc_desc_t desc{ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC, nullptr, 0};
    void* made = nullptr;
    EXPECT_SUCCESS(ZE(zeMemAllocHost)(context, &desc, size, 64, &made));
    return static_cast<std::byte*>(made);
  }

  void free_memory(void* memory) { EXPECT_SUCCESS(ZE(zeMemFree)(context, memory)); }

  /// Waits by the means of every version: a barrier that signals an event.
  void wait_for(ze_command_list_handle_t list) {
    const auto pool = event_pool(1);
    const auto done = event(pool);
    EXPECT_SUCCESS(ZE(zeCommandListAppendBarrier)(list, done, 0, nullptr));
    EXPECT_SUCCESS(ZE(zeEventHostSynchronize)(done, forever));
    EXPECT_SUCCESS(ZE(zeEventDestroy)(done));
    EXPECT_SUCCESS(ZE(zeEventPoolDestroy)(pool));
  }

  ze_driver_handle_t driver = nullptr;
  std::vector<ze_device_handle_t> devices;
  ze_context_handle_t context = nullptr;
};

}  // namespace outback::software_ze::testing
