#include "backend_template/runtimes/cuda/unloading.hpp"

#include <algorithm>
#include <utility>

#include "backend_template/runtimes/cuda/current.hpp"

namespace outback::cuda {

bool unloading::is_idle(device& d, cudaStream_t handle) noexcept {
  // To ask a stream in a capture whether it is idle breaks the capture.
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudart& cuda = d.cuda();
  if (cuda.cudaStreamIsCapturing(handle, &status) == cudaSuccess) {
    if (status != cudaStreamCaptureStatusNone) return false;
    if (cuda.cudaStreamQuery(handle) == cudaSuccess) return true;
  }
  cuda.cudaGetLastError();  // or another user of CUDA would get this error
  return false;
}

void unloading::add_stream(stream& added) {
  const std::lock_guard lock(mutex_);
  const std::atomic_ref known(added.has_launches);
  if (known.load(std::memory_order_relaxed)) return;
  streams_.push_back(added.handle);
  known.store(true, std::memory_order_release);
}

void unloading::remove_stream(device& d, const stream& gone) noexcept {
  if (!gone.has_launches) return;
  bool idle = false;
  try {
    d.check_not_lost();
    const beside_captures here(d);
    idle = is_idle(d, gone.handle);
  } catch (const runtime_error&) {
    // As far as anybody knows, the stream has launches.
  }
  if (!idle) note_unknown_launches();
  const std::lock_guard lock(mutex_);
  const auto found = std::find(streams_.begin(), streams_.end(), gone.handle);
  if (found != streams_.end()) streams_.erase(found);
}

void unloading::add(CUmodule given_away) {
  const std::lock_guard lock(mutex_);
  given_away_.push_back(given_away);
}

void unloading::unload_if_idle(device& d) noexcept {
  const std::vector<CUmodule> before = take();
  if (before.empty()) return;
  bool idle =
      unknown_.load(std::memory_order_relaxed) == waited_for_.load(std::memory_order_relaxed);
  if (idle) {
    // Held, or a stream might be destroyed meanwhile.
    const std::lock_guard lock(mutex_);
    idle = std::all_of(streams_.begin(), streams_.end(),
                       [&](cudaStream_t each) { return is_idle(d, each); });
  }
  if (idle) {
    unload(d, before);
  } else {
    give_back(before);
  }
}

std::vector<CUmodule> unloading::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(given_away_, {});
}

void unloading::give_back(const std::vector<CUmodule>& modules) {
  const std::lock_guard lock(mutex_);
  given_away_.insert(given_away_.end(), modules.begin(), modules.end());
}

void unloading::unload(device& d, const std::vector<CUmodule>& modules) noexcept {
  // There is nobody to report a failure to: the caller gave the module away before.
  for (const CUmodule each : modules) d.driver().cuModuleUnload(each);
}

}  // namespace outback::cuda
