// What Sysman, Level Zero's management API, measures of a device. The telemetry slots and
// memory_usage read it.
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

/// Where a device is in Sysman. Sysman lists cards, while the core may list the tiles of a card as
/// devices.
struct sysman_place {
  zes_device_handle_t device = nullptr;  // null: Sysman does not know the device
  std::optional<uint32_t> tile = {};     // of that card; nullopt: the whole card
};

/// The sensors of one device. Each function returns nullopt if there is no Sysman, if the device
/// has no such sensor, or if the process may not read it. What a card has only for its tiles is put
/// together for the card. May be used from any thread.
class sysman {
 public:
  explicit sysman(const driver_api& api) : api_(api) {}

  /// Sets the place, before the first reading.
  void attach(sysman_place place) noexcept { place_ = place; }

  /// Free and total bytes of the device, memory of all processes counted.
  std::optional<memory_amount> memory();
  std::optional<std::vector<outback_process>> processes();  // of the whole card, for a tile too
  std::optional<int64_t> utilization();                     // percent, since the last call
  std::optional<int64_t> temperature();  // thousandths of a degree Celsius, where it is hottest
  std::optional<int64_t> power();        // milliwatts, the mean since the last call
  std::optional<int64_t> clock_rate();   // hertz, of the fastest tile

 private:
  // A counter and when it was read, in microseconds of Sysman's clock. How fast it grows is the
  // measurement.
  struct reading {
    uint64_t amount, time_us;
  };
  // Returns what `read` says of each sensor that measures this device (its tile, or the card) and
  // whose properties `fits` accepts; nullopt for one that cannot be read. `blank` is a state before
  // it is read. Nothing if the loader lacks one of the functions.
  template <class Handle, class Properties, class State, class Fits>
  std::vector<std::optional<State>> states(
      const library_function<ze_result_t(zes_device_handle_t, uint32_t*, Handle*)>& enumerate,
      const library_function<ze_result_t(Handle, Properties*)>& describe,
      zes_structure_type_t stype, const Fits& fits,
      const library_function<ze_result_t(Handle, State*)>& read, const State& blank) const;
  // The sum of one reading each, or nullopt if one of them failed. They were read one after
  // another.
  template <class State, class Read>
  static std::optional<reading> sum(const std::vector<std::optional<State>>& all, const Read& read);
  // How much the counter grew per microsecond since `last`, which becomes the new reading.
  template <class Read>
  std::optional<double> growth(std::optional<reading>& last, const Read& read);

  const driver_api& api_;
  sysman_place place_;
  std::mutex mutex_;
  std::optional<reading> last_activity_, last_energy_;
};

}  // namespace outback::level_zero
