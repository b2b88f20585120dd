// Measurements of a device by Sysman, Level Zero's management API, for the telemetry slots and
// memory_usage.
#pragma once

#include <level_zero/zes_api.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "backend_template/runtimes/level_zero/driver_api.hpp"
#include "outback/detail/runtime_members.hpp"
#include "outback/runtime.h"

namespace outback::level_zero {

/// The place of a device in Sysman. Sysman lists cards, while the core may list the tiles of a card
/// as devices.
struct sysman_place {
  zes_device_handle_t device = nullptr;  // null: Sysman does not know the device
  std::optional<uint32_t> tile = {};     // the tile of the card; nullopt: the whole card
};

/// The sensors of one device. Each function returns nullopt if there is no Sysman, if the device
/// has no such sensor, or if the process may not read it. If a card has a sensor only for each
/// tile, the functions combine these sensors for the card. May be used from any thread.
class sysman {
 public:
  explicit sysman(const driver_api& api) : api_(api) {}

  /// Sets the place, before the first reading.
  void attach(sysman_place place) noexcept { place_ = place; }

  /// Returns the free and total bytes of the device, all processes included.
  std::optional<memory_amount> memory();
  std::optional<std::vector<outback_process>> processes();  // of the whole card, for a tile too
  std::optional<int64_t> utilization();                     // percent, since the last call
  std::optional<int64_t> temperature();  // thousandths of a degree Celsius, where it is hottest
  std::optional<int64_t> power();        // milliwatts, the mean since the last call
  std::optional<int64_t> clock_rate();   // hertz, of the fastest tile

 private:
  // The value of a counter, and the time of reading in microseconds of Sysman's clock. The
  // measurement is the speed at which the counter grows.
  struct reading {
    uint64_t amount, time_us;
  };
  // Returns the states of all sensors that measure this device (its tile, or the card) and whose
  // properties `fits` accepts; nullopt for a sensor that cannot be read. `read` reads a sensor's
  // state, and `blank` is the state before reading. Returns an empty list if the loader lacks one
  // of the functions.
  template <class Handle, class Properties, class State, class Fits>
  std::vector<std::optional<State>> states(
      const library_function<ze_result_t(zes_device_handle_t, uint32_t*, Handle*)>& enumerate,
      const library_function<ze_result_t(Handle, Properties*)>& describe,
      zes_structure_type_t stype, const Fits& fits,
      const library_function<ze_result_t(Handle, State*)>& read, const State& blank) const;
  // Returns the sum of the readings of all sensors, or nullopt if a sensor could not be read. The
  // sensors were read one after another.
  template <class State, class Read>
  static std::optional<reading> sum(const std::vector<std::optional<State>>& all, const Read& read);
  // Returns the growth of the counter per microsecond since `last`, and stores the new reading in
  // `last`.
  template <class Read>
  std::optional<double> growth(std::optional<reading>& last, const Read& read);

  const driver_api& api_;
  sysman_place place_;
  std::mutex mutex_;
  std::optional<reading> last_activity_, last_energy_;
};

}  // namespace outback::level_zero
