#include "backend_template/core/memory/allocator/device_cache.h"

namespace outback::core {

std::unique_ptr<pending_use> device_cache::make_use() {
  // The lock ends before a new one is allocated.
  std::unique_ptr<pending_use> spare = in_queues<&pending_uses::take_spare>();
  return spare != nullptr ? std::move(spare) : std::make_unique<pending_use>();
}

block* device_cache::end(pending_use* over, size_t queue) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  block* const freed = pending_.end(over, queue);
  return freed == nullptr || heap_.put_back(freed, nullptr) ? nullptr : freed;
}

}  // namespace outback::core
