// Level Zero in this process: the loader, its drivers, and their GPUs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend_template/runtimes/fork_count.hpp"
#include "backend_template/runtimes/level_zero/device.hpp"
#include "backend_template/runtimes/level_zero/driver.hpp"
#include "backend_template/runtimes/level_zero/options.hpp"

namespace outback::level_zero {

/// The runtime makes one platform when a slot first needs it and never destroys it, because the
/// driver's threads outlive main(). After the constructor, members may be used from any thread.
class platform {
 public:
  /// Opens the loader, initialises the drivers and lists their GPUs; makes no context. Does not
  /// throw for the driver's errors, but stores them as `problem`. Then no function of the loader
  /// may be called again: Debian's loader crashes if it is used after a failed initialisation.
  explicit platform(const level_zero_options& options);
  platform(const platform&) = delete;
  platform& operator=(const platform&) = delete;

  /// Returns why there are no devices; "" if there are devices.
  const std::string& problem() const noexcept { return problem_; }
  const std::vector<std::unique_ptr<device>>& devices() const noexcept { return devices_; }
  /// Returns whether this process was forked from the process that initialised Level Zero. The
  /// driver does not notice a fork, and would wait for ever for threads and contexts that only the
  /// parent has.
  bool forked() const noexcept { return fork_count() != forks_; }
  /// Throws outback::runtime_error in a forked child; the text names the remedy.
  void check_not_forked() const {
    outback::check_not_forked(forks_, "Level Zero had been initialised");
  }

  const std::vector<std::unique_ptr<driver>>& drivers() const noexcept { return drivers_; }

  /// Returns the index of the device with this handle, or OUTBACK_HOST if the platform has no such
  /// device.
  int32_t index_of(ze_device_handle_t handle) const noexcept;

 private:
  std::vector<ze_driver_handle_t> initialise();
  std::vector<ze_driver_handle_t> drivers_of_now();  // by zeInitDrivers
  std::vector<ze_driver_handle_t> drivers_of_old();  // by zeInit
  void list_devices(const level_zero_options& options);

  const uint32_t forks_ = fork_count();  // at initialisation
  driver_api api_;
  std::string problem_;
  std::vector<std::unique_ptr<driver>> drivers_;
  std::vector<std::unique_ptr<device>> devices_;
};

}  // namespace outback::level_zero
