// The streams for the copies between device and host, where the CPU cannot address the device's
// memory. There are two per device, so that a copy back to the device need not wait for later
// copies to the host.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <memory>
#include <mutex>
#include <vector>

namespace outback::distributed {

/// The two streams of one device.
struct lanes {
  c10::Stream away;  // copies to the host
  c10::Stream back;  // copies to the device
};

/// The lanes of all devices that a group has used. Thread-safe.
class lanes_of_devices {
 public:
  /// Returns the device's lanes. The first call for a device takes two streams from torch's pool,
  /// which are never destroyed. Starts the backend, and throws what new_stream
  /// (core/streams/stream.h) throws.
  lanes of(c10::DeviceIndex device);

 private:
  std::mutex mutex_;
  std::vector<lanes> made_;
};

/// While this object lives, `stream` is the calling thread's current stream on its device. Does not
/// change the thread's device. Throws what exchange_stream (core/streams/stream.h) throws.
class on_stream {
 public:
  explicit on_stream(const c10::Stream& stream);
  ~on_stream();
  on_stream(const on_stream&) = delete;
  on_stream& operator=(const on_stream&) = delete;

 private:
  c10::Stream before_;
};

}  // namespace outback::distributed
