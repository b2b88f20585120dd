// The clock of a device's timestamps, which events of OpenCL have.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "backend_template/runtimes/opencl/event_ref.hpp"

namespace outback::opencl {

/// May be used from any thread.
class device_clock {
 public:
  /// Returns the time now, in nanoseconds. The driver is asked if it tells (OpenCL 2.1 has a call,
  /// which PoCL 3.1 refuses). Otherwise the timestamps may be times of one of the host's clocks:
  /// the first call finds out which, by the timestamp of `mark()`, a mark on an idle queue that the
  /// call waits for. Throws outback::unsupported if it is none of them.
  int64_t now(const driver_api& api, cl_device_id device, const std::function<event_ref()>& mark);

 private:
  std::mutex mutex_;
  std::optional<int> host_clock_;  // a clockid_t
};

}  // namespace outback::opencl
