// The clock of a device's timestamps, which events of OpenCL have.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

#include "backend_template/runtimes/opencl/event_ref.hpp"

namespace outback::opencl {

/// May be used from any thread.
class device_clock {
 public:
  /// Returns the time now, in nanoseconds. The driver is asked if it tells (OpenCL 2.1 has a call,
  /// which PoCL 3.1 refuses). Otherwise the timestamps may be times of one of the host's clocks:
  /// the first call finds out which, by the timestamp of `mark()`, a mark on an idle queue that the
  /// call waits for. Throws outback::unsupported if it is none of them. Once a call has returned a
  /// time, all later calls do.
  int64_t now(const driver_api& api, cl_device_id device, const std::function<event_ref()>& mark);

 private:
  static constexpr int unknown = -1, of_driver = -2;

  std::mutex mutex_;
  std::atomic<int> source_{unknown};  // or a clockid_t
  std::atomic<uint64_t> last_{0};     // time that the driver told
};

}  // namespace outback::opencl
