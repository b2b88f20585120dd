// Tests of what a process can do only once: each body runs in a process of its own, with an
// environment of its own, on an OpenCL runtime that nothing was asked of before.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "backend_template/runtimes/opencl/opencl.h"
#include "tests/runtime/opencl/environment.hpp"
#include "tests/runtime/own_process.hpp"

namespace outback::test_opencl {

/// Runs the statements after the first argument, `({{"VARIABLE", "value"}, ...})`, in a process of
/// its own. Their EXPECT_... count.
#define OUTBACK_IN_ITS_OWN_PROCESS(variables, ...) \
  OUTBACK_EXPECT_IN_OWN_PROCESS(::outback::test_opencl::set_environment variables; __VA_ARGS__)

/// The runtime of this process.
inline const outback_runtime& table() {
  return *outback_opencl_runtime();
}

inline std::string last_error() {
  return table().last_error(table().self);
}

inline int32_t device_count() {
  int32_t count = -1;
  EXPECT_EQ(table().device_count(table().self, &count), OUTBACK_OK) << last_error();
  return count;
}

/// Throws, with the runtime's text, unless the call succeeded: for what a test only builds on.
inline void must(outback_status status) {
  if (status != OUTBACK_OK) throw std::runtime_error(last_error());
}

}  // namespace outback::test_opencl
