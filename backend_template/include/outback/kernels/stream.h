// The stream on which a native kernel launches its work, so that the work runs in order with all
// other work on the device. Every kernel that a vendor writes by hand needs such a stream;
// `elementwise` (outback/kernels/elementwise.h) passes one to its kernel.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <cstdint>

#include "outback/runtime.h"

namespace outback::kernels {

/// The calling thread's current stream on one device, while a kernel enqueues work there. As long
/// as this object lives, that device is the thread's current device; the destructor restores the
/// former device.
///
///   kernel_stream stream(out.device());
///   acme_launch(stream.handle(), ...);  // returns before the work is done
///
/// The destructor reports to Outback that the stream has work. From then on, copies to the CPU and
/// operators that run the CPU's kernels in place wait for that work. Use the object on the thread
/// that made it and destroy it before the kernel returns. The object does not own the stream.
class kernel_stream {
 public:
  /// `device` is a device of this backend with an index, such as that of a tensor. Throws
  /// c10::Error for a device of another type, and if no backend is registered.
  explicit kernel_stream(c10::Device device);
  /// Calls `mark_launched`, unless `wait` was called and `handle` was not called afterwards.
  /// Restores the former current device. Does not wait for the work.
  ~kernel_stream();
  kernel_stream(const kernel_stream&) = delete;
  kernel_stream& operator=(const kernel_stream&) = delete;

  c10::Device device() const { return stream_.device(); }

  /// Returns the runtime's handle of the stream, which slots take. Null means the device's default
  /// stream. The handle is valid until the process ends.
  outback_stream handle() {
    has_work_ = true;
    return handle_;
  }

  /// Returns the driver's own stream or queue, such as a cudaStream_t, for a kernel that calls its
  /// driver itself; also for the default stream, whose `handle` is null. Some drivers use numbers
  /// as handles, so null may be a valid one. The handle is valid until the process ends. Throws
  /// c10::NotImplementedError if the runtime does not have the group `native`, and what its slot
  /// reports.
  void* native_handle();

  /// Returns the number of the device by which the runtime and its driver know it: under
  /// <NAME>_VISIBLE_DEVICES=2,0 the runtime's device 2 is torch's device 0. Slots of
  /// outback::kernels::runtime() take torch's index, since they renumber by themselves.
  int32_t runtime_device() const;

  /// Reports the work that was enqueued so far, as the destructor does. Call it if, while this
  /// object exists, you call an operator that uses the results of that work.
  void mark_launched();

  /// Waits until all work on the stream is done. Call it first in a kernel that computes on the
  /// calling thread, before the kernel touches device memory. Throws c10::Error with the driver's
  /// words if earlier work failed, and c10::Error if the stream is being captured, which breaks the
  /// capture.
  void wait();

 private:
  c10::Stream stream_;
  outback_stream handle_;
  c10::DeviceIndex device_before_;
  bool has_work_ = true;  // there may be work after the last wait()
};

}  // namespace outback::kernels
