// Everything that Level Zero has in this process: the loader, its drivers, and their GPUs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend_template/runtimes/fork_count.hpp"
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
  /// This process was forked from the one that initialised Level Zero: the driver believes that it
  /// is ready, and waits for ever for threads and contexts that only the parent has.
  bool forked() const noexcept { return fork_count() != forks_; }
  /// Throws outback::runtime_error, which says what to do instead, if it was.
  void check_not_forked() const;

  const std::vector<std::unique_ptr<driver>>& drivers() const noexcept { return drivers_; }

  /// OUTBACK_HOST, if it is none of ours.
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
