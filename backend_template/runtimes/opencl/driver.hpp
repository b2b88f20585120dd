// One platform of the loader, which is one driver: its devices that the runtime uses, and their one
// context.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "backend_template/runtimes/opencl/driver_api.hpp"

namespace outback::opencl {

/// Lives as long as the process, as does its context. May be used from any thread once the platform
/// is made. Functions throw like `check` (result.hpp).
class driver {
 public:
  driver(const driver_api& api, cl_platform_id handle) : api_(api), handle_(handle) {}
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

  const driver_api& api() const noexcept { return api_; }
  cl_platform_id handle() const noexcept { return handle_; }

  /// Lists the driver's devices of these types. None is no failure.
  std::vector<cl_device_id> list(cl_device_type types) const;
  /// Makes `device` one of those that the context is for. Call it before `context`.
  void use(cl_device_id device) { used_.push_back(device); }

  /// Returns the context; the first call makes it.
  cl_context context();

 private:
  const driver_api& api_;
  const cl_platform_id handle_;
  std::vector<cl_device_id> used_;
  std::mutex mutex_;
  std::atomic<cl_context> context_{nullptr};
};

}  // namespace outback::opencl
