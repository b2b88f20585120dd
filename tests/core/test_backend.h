// The backend that these tests run on: two host devices of 64 MiB, registered once for the program.
#pragma once

#include <c10/core/Device.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "backend_template/runtimes/host/host_runtime.hpp"
#include "outback/backend.h"
#include "outback/runtime.hpp"

namespace outback::test {

inline constexpr size_t device_memory = size_t{64} << 20;

inline const outback_runtime* host_table() {
  static auto& devices =
      *new host::host_runtime(host::host_options{.devices = 2, .memory_size = device_memory});
  return table_of(devices);
}

class BackendTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_backend({.name = "acme", .runtime = host_table()}); }
  static c10::Device device(int index) {
    return c10::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(index));
  }
};

}  // namespace outback::test
