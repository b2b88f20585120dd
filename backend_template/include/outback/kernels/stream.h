// Where a native kernel puts its work, in the order of everything else that the device does.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include "outback/runtime.h"

namespace outback::kernels {

/// The calling thread's current stream on one device, for as long as a kernel puts work there.
/// Meanwhile that device is the thread's current one.
///
///   kernel_stream stream(out.device());
///   acme_launch(stream.handle(), ...);  // returns before it is done
///
/// When it dies, what was put on the stream counts: copies to the CPU, and operators that run on
/// the CPU's kernels, wait for it. One thread's; not to be kept beyond the kernel.
class kernel_stream {
 public:
  /// Throws c10::Error for a device that is not this backend's.
  explicit kernel_stream(c10::Device device);
  ~kernel_stream();
  kernel_stream(const kernel_stream&) = delete;
  kernel_stream& operator=(const kernel_stream&) = delete;

  c10::Device device() const { return stream_.device(); }

  /// The runtime's own handle, as its slots get it, to launch on. Null: the device's default
  /// stream.
  outback_stream handle() {
    has_work_ = true;
    return handle_;
  }

  /// Counts what was put on the stream so far, for an operator that is called before this object
  /// dies and that uses the results.
  void mark_launched();

  /// For a kernel that computes on the calling thread and is done when it returns: waits until all
  /// that was put on the stream before is done. Costs a few loads where the stream is idle. Throws
  /// c10::Error with the driver's words where earlier work failed.
  void wait();

 private:
  c10::Stream stream_;
  outback_stream handle_;
  c10::DeviceIndex device_before_;
  bool has_work_ = true;  // since the last wait
};

}  // namespace outback::kernels
