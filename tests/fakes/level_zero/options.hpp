// What the driver is made of, and how the environment says it.
#pragma once

#include <level_zero/ze_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/fakes/level_zero/newer_api.hpp"

namespace outback::software_ze {

/// A place of ZE_AFFINITY_MASK: a device, and perhaps only one of its tiles.
struct affinity {
  uint32_t device;
  std::optional<uint32_t> tile;
};

struct driver_options {
  uint32_t api = api_version(1, 10);
  uint32_t devices = 2;            // cards
  uint32_t tiles = 1;              // of each card
  uint64_t memory = 256ull << 20;  // bytes of each card
  uint64_t max_alloc = 0;          // 0: half the memory of a device
  uint64_t host_memory = 8ull << 30;
  bool flat = true;  // tiles are devices
  std::optional<std::vector<affinity>> mask;
  uint32_t timer_bits = 36;
  uint32_t queues = 4;                       // of the compute group
  uint64_t fill_pattern = 16;                // of the compute group, bytes
  bool copy_group = false;                   // a second group, which only copies
  bool peer = true;                          // devices can access each other
  bool guard = false;                        // the host cannot touch device memory
  std::optional<uint64_t> adversarial;       // a seed
  bool strict = false;                       // a violation ends the process
  bool fork_hangs = false;                   // a wait in a forked child hangs instead of failing
  std::set<std::string, std::less<>> leaks;  // kinds that must be gone at exit; "1": all
  bool sysman = false;
  std::string execute;  // "opencl", or a library of kernels: what runs the kernels
  ze_device_module_flags_t module_flags =
      ZE_DEVICE_MODULE_FLAG_FP64 | ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
  std::string faults;
};

/// README.md lists the variables. Throws std::invalid_argument with the variable, its value and
/// what it may be.
driver_options options_from_environment();

}  // namespace outback::software_ze
