// What a slot changes of the calling thread's CUDA state, and puts back.
#pragma once

#include "backend_template/runtimes/cuda/device.hpp"

namespace outback::cuda {

/// The context of a device is current while it lives; then the one from before, or none, is. So no
/// slot changes the thread's device, and none makes a context on a device that was not asked for,
/// as libcudart does on device 0 for a thread that has none.
class on_device {
 public:
  /// Makes the context if there is none.
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

/// While it lives, calls of this thread that CUDA takes for unsafe during captures (allocations,
/// queries, waiting) neither fail nor break a capture only because some thread has a capture in
/// CUDA's global mode, which is what torch.cuda.graph uses. What really meets a capture still does.
class beside_captures {
 public:
  explicit beside_captures(device& d) : cuda_(d.cuda()) {
    d.call(cuda_.cudaThreadExchangeStreamCaptureMode, &mode_);
  }
  ~beside_captures() {
    if (cuda_.cudaThreadExchangeStreamCaptureMode(&mode_) != cudaSuccess) cuda_.cudaGetLastError();
  }
  beside_captures(const beside_captures&) = delete;
  beside_captures& operator=(const beside_captures&) = delete;

 private:
  const cudart& cuda_;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // then the one from before
};

}  // namespace outback::cuda
