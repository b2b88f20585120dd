// Finds Sysman's device for each device of the core API. platform.cpp uses this class once for each
// device.
#pragma once

#include <level_zero/zes_api.h>

#include <vector>

#include "backend_template/runtimes/level_zero/driver_api.hpp"
#include "backend_template/runtimes/level_zero/sysman.hpp"

namespace outback::level_zero {

/// Sysman's devices. With `in_core`, Sysman was initialised together with the core
/// (ZES_ENABLE_SYSMAN=1) and shares its device handles. Otherwise newer loaders can initialise
/// Sysman separately, without a variable; devices are then matched by UUID. For use by one thread.
class sysman_handles {
 public:
  /// Lists Sysman's devices. After a failure of the driver Sysman knows no device; the constructor
  /// does not throw for it.
  sysman_handles(const driver_api& api, bool in_core);
  /// Returns the place of a device of the core, with a null device if Sysman does not know it.
  sysman_place of(ze_device_handle_t device, const ze_device_properties_t& properties) const;

 private:
  // A card that Sysman lists, by its UUID.
  struct known {
    zes_device_handle_t device;
    ze_device_uuid_t uuid;
  };
  void list(zes_driver_handle_t driver);
  zes_device_handle_t card_of(const ze_device_uuid_t& uuid) const;
  sysman_place by_uuid(const ze_device_uuid_t& uuid) const;
  ze_device_handle_t root_of(ze_device_handle_t device) const;

  const driver_api& api_;
  bool in_core_;
  std::vector<zes_driver_handle_t> drivers_;
  std::vector<known> apart_;
};

}  // namespace outback::level_zero
