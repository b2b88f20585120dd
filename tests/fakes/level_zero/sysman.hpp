// What Sysman tells of a device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/fakes/level_zero/device.hpp"

namespace outback::software_ze {

/// What Sysman measures one by one: a device of the core, or a tile of a card that has several.
struct measured {
  std::shared_ptr<device> of;
  bool is_tile;  // Sysman's device is the card
};

/// A device of Sysman that was initialised apart: a card, whatever the core lists.
struct sysman_card {
  static constexpr uint8_t handle_kind = 10;
  static constexpr const char* noun = "Sysman device";

  uint32_t card;
  std::vector<measured> parts;  // its tiles, or itself
};

/// One thing that zesDeviceEnum* lists: there is one of each sort to a tile.
struct sensor {
  static constexpr uint8_t handle_kind = 9;
  static constexpr const char* noun = "Sysman handle";

  enum class sort { memory, temperature, power, frequency, engine };
  measured at;
  sort what;
};

// What an idle device reads, a tile by its number more; busy time adds to the energy.
inline constexpr double temperature_celsius = 42.0;
inline constexpr double clock_megahertz = 1000.0;
inline constexpr uint64_t idle_milliwatts = 5000, busy_milliwatts = 20000;

/// Microjoules, from some start on.
uint64_t energy_microjoules(device& of);

}  // namespace outback::software_ze
