// Guards for the CUDA state of the calling thread: what a slot changes of it, its guard puts back.
#pragma once

#include "backend_template/runtimes/cuda/device.hpp"

namespace outback::cuda {

/// Makes the context of a device current for its lifetime, and then restores the context that was
/// current before, or none. So a slot does not change the thread's current device. And it makes no
/// context on device 0, as libcudart does for a thread that has no current device.
///
/// Not to be shared between threads.
class on_device {
 public:
  /// Makes the device's context if there is none. Throws as `device::call`.
  explicit on_device(device& d) : device_(d) {
    const CUcontext wanted = d.context();
    CUcontext now = nullptr;
    d.call(d.driver().cuCtxGetCurrent, &now);
    if (now == wanted) return;
    d.call(d.driver().cuCtxPushCurrent, wanted);
    pushed_ = true;
  }
  ~on_device() {
    CUcontext popped = nullptr;
    if (pushed_) device_.driver().cuCtxPopCurrent(&popped);
  }
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;

 private:
  device& device_;
  bool pushed_ = false;
};

/// Puts the calling thread into CUDA's relaxed capture mode for its lifetime. Without that, calls
/// that CUDA considers unsafe during captures (allocating, querying, waiting) would fail, and break
/// the capture, because some other thread has a capture in the global mode, which torch.cuda.graph
/// uses. A call that concerns a stream or an event of a capture itself still breaks it.
class relaxed_captures {
 public:
  /// Throws as `device::call`.
  explicit relaxed_captures(device& d) : cuda_(d.cuda()) {
    d.call(cuda_.cudaThreadExchangeStreamCaptureMode, &mode_);
  }
  ~relaxed_captures() {
    if (cuda_.cudaThreadExchangeStreamCaptureMode(&mode_) != cudaSuccess) cuda_.cudaGetLastError();
  }
  relaxed_captures(const relaxed_captures&) = delete;
  relaxed_captures& operator=(const relaxed_captures&) = delete;

 private:
  const cudart& cuda_;
  cudaStreamCaptureMode mode_ =
      cudaStreamCaptureModeRelaxed;  // after the exchange: the mode from before
};

/// Both of them, for a call that must work beside the captures of other threads.
struct beside_captures {
  explicit beside_captures(device& d) : current(d), relaxed(d) {}
  const on_device current;
  const relaxed_captures relaxed;
};

}  // namespace outback::cuda
