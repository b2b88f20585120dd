// The peer slots of the CUDA runtime: access of one device to the memory of another.
#include "backend_template/runtimes/cuda/cuda_runtime.hpp"
#include "backend_template/runtimes/cuda/current.hpp"

namespace outback::cuda {

bool cuda_runtime::peer_can_access(int32_t index, int32_t peer) {
  device& d = at(index);
  at(peer);
  if (index == peer) return false;
  int can = 0;
  d.call(d.cuda().cudaDeviceCanAccessPeer, &can, int(index), int(peer));
  return can != 0;
}

void cuda_runtime::peer_enable(int32_t index, int32_t peer) {
  if (!peer_can_access(index, peer)) {
    throw unsupported("device " + std::to_string(index) + " cannot access memory of device " +
                      std::to_string(peer));
  }
  device& d = at(index);
  const beside_captures here(d);
  const cudaError_t error = d.cuda().cudaDeviceEnablePeerAccess(int(peer), 0);
  if (error == cudaSuccess) {
    const std::lock_guard lock(peers_mutex_);
    peers_.emplace(index, peer);
  } else if (error == cudaErrorPeerAccessAlreadyEnabled) {
    d.cuda().cudaGetLastError();
  } else {
    d.fail(error, d.cuda().cudaDeviceEnablePeerAccess.name);
  }
}

void cuda_runtime::peer_disable(int32_t index, int32_t peer) {
  device& d = at(index);
  at(peer);
  // Only what was enabled here is disabled: another user of the context may rely on the rest. The
  // pair is taken first, so that of two threads one calls CUDA.
  {
    const std::lock_guard lock(peers_mutex_);
    if (peers_.erase({index, peer}) == 0) return;
  }
  try {
    const beside_captures here(d);
    const cudaError_t error = d.cuda().cudaDeviceDisablePeerAccess(int(peer));
    if (error == cudaErrorPeerAccessNotEnabled) {
      d.cuda().cudaGetLastError();  // another user of CUDA has disabled it
    } else if (error != cudaSuccess) {
      d.fail(error, d.cuda().cudaDeviceDisablePeerAccess.name);
    }
  } catch (...) {
    const std::lock_guard lock(peers_mutex_);
    peers_.emplace(index, peer);  // so that the caller may try again
    throw;
  }
}

}  // namespace outback::cuda
