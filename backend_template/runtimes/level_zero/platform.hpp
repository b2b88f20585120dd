// Everything that Level Zero has in this process: the loader, its drivers, and their GPUs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend_template/runtimes/level_zero/device.hpp"
#include "backend_template/runtimes/level_zero/driver.hpp"
#include "backend_template/runtimes/level_zero/options.hpp"

namespace outback::level_zero {

/// Made once, by the first slot that needs it, and never destroyed: the driver's threads outlive
/// main().
class platform {
 public:
  /// Opens the loader, initialises the drivers and lists their GPUs. Makes no context. What goes
  /// wrong is kept as `problem`, and then nothing of the loader's is called again: Debian's crashes
  /// when it is used after an initialisation that failed.
  explicit platform(const level_zero_options& options);
  platform(const platform&) = delete;
  platform& operator=(const platform&) = delete;

  /// Why there are no devices; "" where there are.
  const std::string& problem() const noexcept { return problem_; }
  const std::vector<std::unique_ptr<device>>& devices() const noexcept { return devices_; }
  const std::vector<std::unique_ptr<driver>>& drivers() const noexcept { return drivers_; }

  /// OUTBACK_HOST, if it is none of ours.
  int32_t index_of(ze_device_handle_t handle) const noexcept;

 private:
  std::vector<ze_driver_handle_t> initialise();
  void list_devices(const level_zero_options& options);

  driver_api api_;
  std::string problem_;
  std::vector<std::unique_ptr<driver>> drivers_;
  std::vector<std::unique_ptr<device>> devices_;
};

}  // namespace outback::level_zero
