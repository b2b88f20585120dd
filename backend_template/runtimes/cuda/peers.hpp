// Remembers which peers this runtime enabled. What another user of CUDA enabled on the same context
// stays enabled when a backend disables its own peers.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

namespace outback::cuda {

/// A set of pairs: a device, and the peer whose memory it may access. May be used from any thread.
class peers {
 public:
  void add(int32_t device, int32_t peer) {
    const std::lock_guard lock(mutex_);
    enabled_.emplace(device, peer);
  }
  /// Removes the pair. Returns whether it was there.
  bool take(int32_t device, int32_t peer) {
    const std::lock_guard lock(mutex_);
    return enabled_.erase({device, peer}) != 0;
  }

 private:
  std::mutex mutex_;
  std::set<std::pair<int32_t, int32_t>> enabled_;
};

}  // namespace outback::cuda
