// The streams on which the tensors of a device's operations travel, where the CPU cannot address
// the device's memory. Two, so that what comes back need not wait for what leaves later.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <memory>
#include <mutex>
#include <vector>

namespace outback::distributed {

/// Those of one device.
struct lanes {
  c10::Stream away;  // copies to the host
  c10::Stream back;  // copies to the device
};

/// Those of all devices that a group has met. Thread-safe.
class lanes_of_devices {
 public:
  /// Returns the device's lanes, made at its first use: streams of torch's pool, which are never
  /// destroyed. Starts the backend, and throws what new_stream (core/streams/stream.h) throws.
  lanes of(c10::DeviceIndex device);

 private:
  std::mutex mutex_;
  std::vector<lanes> made_;
};

/// While it lives, `stream` is the calling thread's current stream on its device. The thread's
/// device stays. Throws what exchange_stream (core/streams/stream.h) throws.
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
