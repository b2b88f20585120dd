// Modules whose kernels are gone for the caller, and which the driver has to keep for a while: CUDA
// leaves undefined what becomes of launches, and of graphs, whose module is unloaded.
//
// A module is unloaded
//   - by a device_sync that succeeds, if the module was given away before,
//   - by a module_load that finds every stream of the device idle,
// and never if one of its kernels was launched in a capture. cuModuleUnload may wait for the
// device, which module_unload must not.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "backend_template/runtimes/cuda/stream.hpp"

namespace outback::cuda {

class device;

/// Of one device. May be used from any thread.
class unloading {
 public:
  // ---- The streams that may have launches

  /// Call this before each launch on the stream.
  void note_launch(stream& on) {
    const std::atomic_ref known(on.has_launches);
    if (!known.load(std::memory_order_acquire)) add_stream(on);
  }
  /// Call this before the stream is destroyed, or its maker may destroy what it wraps. Asks CUDA
  /// whether the stream is idle if it had launches.
  void remove_stream(device& d, const stream& gone) noexcept;
  /// There are launches on a stream that nobody can ask any more, or on one that is not the same
  /// stream in another thread. Only a device_sync tells when they are done.
  void note_unknown_launches() noexcept { unknown_.fetch_add(1, std::memory_order_relaxed); }

  // ---- The modules

  /// Takes a module that no new launch uses.
  void add(CUmodule given_away);
  /// Unloads what was given away if the device has no work. Does not wait for work. The context
  /// must be current, and the thread in the relaxed capture mode.
  void unload_if_idle(device& d) noexcept;
  /// Calls `wait`, which waits for all work of the device, and unloads what was given away before.
  /// Throws what `wait` throws, and then unloads nothing.
  template <class Wait>
  void unload_after(device& d, const Wait& wait) {
    const uint64_t unknown = unknown_.load(std::memory_order_relaxed);
    std::vector<CUmodule> before = take();
    try {
      wait();
    } catch (...) {
      give_back(before);
      throw;
    }
    waited_for_.store(unknown, std::memory_order_relaxed);
    unload(d, before);
  }
  /// Calls `begin`, which begins a capture. Without this, a question whether the stream is idle
  /// might come in between, and break the capture.
  template <class Begin>
  auto begin_capture(const Begin& begin) {
    const std::lock_guard lock(mutex_);
    return begin();
  }

 private:
  void add_stream(stream& added);
  bool is_idle(device& d, cudaStream_t handle) noexcept;
  std::vector<CUmodule> take();
  void give_back(const std::vector<CUmodule>& modules);
  void unload(device& d, const std::vector<CUmodule>& modules) noexcept;

  std::mutex mutex_;
  std::vector<cudaStream_t> streams_;  // twice if two of our streams wrap the same
  std::vector<CUmodule> given_away_;
  std::atomic<uint64_t> unknown_{0}, waited_for_{0};
};

}  // namespace outback::cuda
