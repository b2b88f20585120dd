#include "backend_template/core/memory/allocator/memory_pools.h"

namespace outback::core {

memory_pool* memory_pools::find(c10::MempoolId_t id) noexcept {
  // The common pool is no element of the table: it always exists, and is found without a search.
  if (id == common_.id) return &common_;
  const auto it = private_.find(id);
  return it == private_.end() ? nullptr : it->second.get();
}

memory_pool& memory_pools::find_or_make(c10::MempoolId_t id) {
  if (id == common_.id) return common_;
  auto& slot = private_[id];
  if (slot == nullptr) {
    slot = std::make_unique<memory_pool>();
    slot->id = id;
  }
  return *slot;
}

void memory_pools::remove(c10::MempoolId_t id) noexcept {
  private_.erase(id);
}

}  // namespace outback::core
