// Guards for the CUDA state of the calling thread: a guard restores the state that a slot changes.
#pragma once

#include "backend_template/runtimes/cuda/device.hpp"

namespace outback::cuda {

/// Makes the context of a device current for its lifetime, and then restores the previous context,
/// or no context if there was none. So a slot does not change the thread's current device. It also
/// avoids the context on device 0 that libcudart makes for a thread without a current device.
///
/// Do not share an object between threads.
class on_device {
 public:
  /// Makes the device's context if there is none. Throws like `device::call`.
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

/// Puts the calling thread into CUDA's relaxed capture mode for its lifetime. Otherwise, while
/// another thread has a capture in the global mode, which torch.cuda.graph uses, calls that CUDA
/// considers unsafe during captures (allocating, querying, waiting) would fail and break that
/// capture. A call that concerns a stream or an event of a capture still breaks the capture.
class relaxed_captures {
 public:
  /// Throws like `device::call`.
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
      cudaStreamCaptureModeRelaxed;  // after the exchange: the previous mode
};

/// Both guards, for a call that must work during captures of other threads.
struct beside_captures {
  explicit beside_captures(device& d) : current(d), relaxed(d) {}
  const on_device current;
  const relaxed_captures relaxed;
};

}  // namespace outback::cuda
