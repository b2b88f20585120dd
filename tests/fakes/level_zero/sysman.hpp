// What Sysman tells of a device.
#pragma once

#include <cstdint>
#include <memory>

#include "tests/fakes/level_zero/device.hpp"

namespace outback::software_ze {

/// One thing that zesDeviceEnum* lists: there is one of each sort to a device.
struct sensor {
  static constexpr uint8_t handle_kind = 9;
  static constexpr const char* noun = "Sysman handle";

  enum class sort { memory, temperature, power, frequency, engine };
  std::shared_ptr<device> of;
  sort what;
};

// What an idle device reads; busy time adds to the energy.
inline constexpr double temperature_celsius = 42.0;
inline constexpr double clock_megahertz = 1000.0;
inline constexpr uint64_t idle_milliwatts = 5000, busy_milliwatts = 20000;

/// Microjoules, from some start on.
uint64_t energy_microjoules(device& of);

}  // namespace outback::software_ze
