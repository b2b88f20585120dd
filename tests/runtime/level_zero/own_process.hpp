// Tests of what a process can do only once: each body runs in a process of its own, with an
// environment of its own, on a Level Zero runtime that nothing was asked of before.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "backend_template/runtimes/level_zero/level_zero.h"
#include "tests/fakes/level_zero/software_driver.h"
#include "tests/runtime/level_zero/environment.hpp"
#include "tests/runtime/own_process.hpp"

namespace outback::test_level_zero {

/// Runs the statements after the first argument, `({{"VARIABLE", "value"}, ...})`, in a process of
/// its own. Their EXPECT_... count.
#define OUTBACK_IN_ITS_OWN_PROCESS(variables, ...)                                         \
  OUTBACK_EXPECT_IN_OWN_PROCESS(::outback::test_level_zero::replace_environment variables; \
                                __VA_ARGS__)

inline void replace_environment(std::initializer_list<variable> given) {
  for (const auto& [name, value] : given) setenv(name, value, 1);
  set_environment({});
}

/// A control of the software driver, which must have been loaded.
template <class Function>
Function* control(const char* name) {
  void* const driver = dlopen(software_driver, RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) throw std::runtime_error("the software driver is not loaded");
  void* const found = dlsym(driver, name);
  if (found == nullptr) throw std::runtime_error(std::string("the driver has no ") + name);
  return reinterpret_cast<Function*>(found);
}
#define OUTBACK_ZE_CONTROL(name) (*::outback::test_level_zero::control<decltype(name)>(#name))

inline uint64_t calls(const char* entry_point) {
  return OUTBACK_ZE_CONTROL(outback_ze_calls)(entry_point);
}
inline uint64_t live(const char* kind) {
  return OUTBACK_ZE_CONTROL(outback_ze_live)(kind);
}

/// The runtime of this process.
inline const outback_runtime& table() {
  return *outback_level_zero_runtime();
}

inline std::string last_error() {
  return table().last_error(table().self);
}

inline int32_t device_count() {
  int32_t count = -1;
  EXPECT_EQ(table().device_count(table().self, &count), OUTBACK_OK) << last_error();
  return count;
}

inline outback_device_info info_of(int32_t device) {
  outback_device_info info = {};
  info.struct_size = sizeof(info);
  EXPECT_EQ(table().device_info(table().self, device, &info), OUTBACK_OK) << last_error();
  return info;
}

/// Throws, with the runtime's text, unless the call succeeded: for what a test only builds on.
inline void must(outback_status status) {
  if (status != OUTBACK_OK) throw std::runtime_error(last_error());
}

}  // namespace outback::test_level_zero
