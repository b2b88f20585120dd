// OpenCL in this process: the loader, its drivers, and their devices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend_template/runtimes/fork_count.hpp"
#include "backend_template/runtimes/opencl/device.hpp"
#include "backend_template/runtimes/opencl/driver.hpp"
#include "backend_template/runtimes/opencl/options.hpp"

namespace outback::opencl {

/// Lets the process end only when the devices have come to rest, for 5 seconds at most. Call it
/// again after the driver has compiled: what it has made then, it takes down before what was there.
void await_rest_at_exit();

/// The runtime makes one platform when a slot first needs it and never destroys it, because the
/// drivers' threads outlive main(). After the constructor, members may be used from any thread.
class platform {
 public:
  /// Opens the loader and lists the devices; makes no context. Does not throw for the drivers'
  /// errors, but stores them as `problem`.
  explicit platform(const opencl_options& options);
  platform(const platform&) = delete;
  platform& operator=(const platform&) = delete;

  /// Returns why there are no devices; "" if there are devices.
  const std::string& problem() const noexcept { return problem_; }
  const std::vector<std::unique_ptr<device>>& devices() const noexcept { return devices_; }
  /// Returns whether this process was forked from the process that opened OpenCL, whose drivers'
  /// threads only the parent has.
  bool forked() const noexcept { return fork_count() != forks_; }
  /// Throws outback::runtime_error in a forked child; the text names the remedy.
  void check_not_forked() const { outback::check_not_forked(forks_, "OpenCL had been opened"); }

 private:
  void list_drivers();
  // Adds the devices of these types that have memory of the right kind.
  void list_devices(cl_device_type types);

  const uint32_t forks_ = fork_count();  // when OpenCL was opened
  driver_api api_;
  std::string problem_;
  std::string refused_;  // devices that the runtime cannot use, as sentences
  std::vector<std::unique_ptr<driver>> drivers_;
  std::vector<std::unique_ptr<device>> devices_;
};

}  // namespace outback::opencl
