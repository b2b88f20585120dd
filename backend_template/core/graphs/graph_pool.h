// The memory pool of a graph, kept in use on each device to which the graph's capture spread.
// Memory from the pool keeps its address until the last graph of the pool is gone.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Device.h>

#include <bitset>
#include <mutex>

#include "backend_template/core/devices/device.h"

namespace outback::core {

/// Uses the pool once on each device passed to `hold`. Thread-safe.
class graph_pool {
 public:
  /// Does not use the pool on any device until `hold`.
  explicit graph_pool(c10::MempoolId_t id) noexcept : id_(id) {}
  graph_pool(const graph_pool&) = delete;
  graph_pool& operator=(const graph_pool&) = delete;
  /// Ends the uses. The pool's memory can go back to the runtime when it has no other users.
  ~graph_pool();

  /// Starts to use the pool on `device`, unless this object uses it there already. Throws what
  /// `cache_of` throws.
  void hold(c10::DeviceIndex device);

  c10::MempoolId_t id() const noexcept { return id_; }

 private:
  const c10::MempoolId_t id_;
  std::mutex mutex_;
  std::bitset<max_devices> held_;
};

}  // namespace outback::core
