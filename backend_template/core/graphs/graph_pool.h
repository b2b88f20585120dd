// The memory pool of a graph, kept in use on each device that the graph's capture spread to. What
// was allocated from it stays where it is until the last graph of the pool lets go.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Device.h>

#include <bitset>
#include <mutex>

#include "backend_template/core/devices/device.h"

namespace outback::core {

/// One use of the pool on each device that was named. Thread-safe.
class graph_pool {
 public:
  /// Uses the pool on no device yet.
  explicit graph_pool(c10::MempoolId_t id) noexcept : id_(id) {}
  graph_pool(const graph_pool&) = delete;
  graph_pool& operator=(const graph_pool&) = delete;
  /// Ends the uses. The pool's memory can go back to the runtime once nobody else uses it.
  ~graph_pool();

  /// Uses the pool on `device` from now on, if it did not before. Throws what `cache_of` throws.
  void hold(c10::DeviceIndex device);

  c10::MempoolId_t id() const noexcept { return id_; }

 private:
  const c10::MempoolId_t id_;
  std::mutex mutex_;
  std::bitset<max_devices> held_;
};

}  // namespace outback::core
