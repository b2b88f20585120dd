#include "backend_template/core/graphs/graph_pool.h"

#include <cstddef>

#include "backend_template/core/devices/lazy_start.h"
#include "backend_template/core/memory/allocator/caches.h"

namespace outback::core {

graph_pool::~graph_pool() {
  // In a forked child the locks of the cache may be held for ever.
  if (is_in_bad_fork()) return;
  for (size_t device = 0; device < max_devices; ++device) {
    if (held_.test(device)) cache_of(static_cast<c10::DeviceIndex>(device)).end_pool_use(id_);
  }
}

void graph_pool::hold(c10::DeviceIndex device) {
  // Before the lock: the first use of a device's memory asks the runtime.
  device_cache& cache = cache_of(device);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (held_.test(static_cast<size_t>(device))) return;
  cache.begin_pool_use(id_);
  held_.set(static_cast<size_t>(device));
}

}  // namespace outback::core
