// Which of Sysman's devices is which of the core's.
#pragma once

#include <level_zero/zes_api.h>

#include <vector>

#include "backend_template/runtimes/level_zero/driver_api.hpp"
#include "backend_template/runtimes/level_zero/sysman.hpp"

namespace outback::level_zero {

/// Where Sysman has the core's devices. `in_core`: Sysman was initialised with the core
/// (ZES_ENABLE_SYSMAN), whose handles it then shares. Otherwise newer loaders let it be initialised
/// apart, which the environment need not say; devices are matched by their UUID then.
class sysman_handles {
 public:
  sysman_handles(const driver_api& api, bool in_core);
  sysman_place of(ze_device_handle_t device, const ze_device_properties_t& properties) const;

 private:
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
