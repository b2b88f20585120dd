// What Sysman, Level Zero's management half, says of a device.
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

/// Where a device is in Sysman, which lists cards, while the core may list their tiles.
struct sysman_place {
  zes_device_handle_t device = nullptr;  // null: Sysman does not know it
  std::optional<uint32_t> tile = {};     // of that device; none: all of it
};

/// The sensors of one device. Each answers nullopt where there is no Sysman, where the device has
/// no such sensor, or where the process may not read it. What a card has for each of its tiles, and
/// not for itself, is put together for the card. May be used from any thread.
class sysman {
 public:
  explicit sysman(const driver_api& api) : api_(api) {}

  void attach(sysman_place place) noexcept { place_ = place; }

  std::optional<memory_amount> memory();
  std::optional<std::vector<outback_process>> processes();  // of the card, for a tile too
  std::optional<int64_t> utilization();                     // percent since the last call
  std::optional<int64_t> temperature();  // thousandths of a degree Celsius, where it is hottest
  std::optional<int64_t> power();        // milliwatts, the mean since the last call
  std::optional<int64_t> clock_rate();   // hertz, of the fastest tile

 private:
  /// A count and the time of its reading, whose growth is what is asked for.
  struct reading {
    uint64_t amount, time_us;
  };
  /// Those of `enumerate`'s that measure this device and that `fits`, a function of their
  /// properties, takes.
  template <class Handle, class Properties, class Enumerate, class Describe, class Fits>
  std::vector<Handle> own(Enumerate enumerate, Describe describe, zes_structure_type_t stype,
                          const Fits& fits) const;
  /// All of them, read one after another.
  template <class Handle, class Read>
  static std::optional<reading> sum(const std::vector<Handle>& all, const Read& read);
  template <class Read>
  std::optional<double> growth(std::optional<reading>& last, const Read& read);

  const driver_api& api_;
  sysman_place place_;
  std::mutex mutex_;
  std::optional<reading> last_activity_, last_energy_;
};

}  // namespace outback::level_zero
