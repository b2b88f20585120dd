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

/// The sensors of one device. Each answers nullopt where there is no Sysman, where the device has
/// no such sensor, or where the process may not read it. May be used from any thread.
class sysman {
 public:
  explicit sysman(const driver_api& api) : api_(api) {}

  /// Sysman's own handle of the device; without one every answer is nullopt.
  void attach(zes_device_handle_t device) noexcept { device_ = device; }

  std::optional<memory_amount> memory();
  std::optional<std::vector<outback_process>> processes();
  std::optional<int64_t> utilization();  // percent since the last call
  std::optional<int64_t> temperature();  // thousandths of a degree Celsius
  std::optional<int64_t> power();        // milliwatts, the mean since the last call
  std::optional<int64_t> clock_rate();   // hertz

 private:
  /// A count and the time of its reading, whose growth is what is asked for.
  struct reading {
    uint64_t amount, time_us;
  };
  template <class Read>
  std::optional<double> growth(std::optional<reading>& last, const Read& read);

  const driver_api& api_;
  zes_device_handle_t device_ = nullptr;
  std::mutex mutex_;
  std::optional<reading> last_activity_, last_energy_;
};

/// Sysman's handle of each of `devices`, null where it has none. `in_core`: Sysman was initialised
/// with the core (ZES_ENABLE_SYSMAN), whose handles it then shares. Otherwise newer loaders let it
/// be initialised apart, which the environment need not say; devices are matched by their UUID.
class sysman_handles {
 public:
  sysman_handles(const driver_api& api, bool in_core);
  zes_device_handle_t of(ze_device_handle_t device, const ze_device_uuid_t& uuid) const;

 private:
  struct known {
    zes_device_handle_t device;
    ze_device_uuid_t uuid;
  };
  bool in_core_;
  std::vector<known> apart_;
};

}  // namespace outback::level_zero
