#include "backend_template/core/allocator/arena.h"

#include <c10/util/hash.h>

#include <cstdint>

namespace outback::core {

arenas::arenas() {
  for (const bool small : {false, true}) {
    common_default_[small].is_small = small;
    common_default_[small].pool = &common_;
  }
}

size_t arenas::key_hash::operator()(const key& it) const noexcept {
  return c10::get_hash(reinterpret_cast<uintptr_t>(it.pool), it.stream, it.small);
}

arena& arenas::find(c10::StreamId stream, bool small, memory_pool& pool) {
  if (C10_LIKELY(stream == 0 && &pool == &common_)) return common_default_[small];
  auto& it = others_[key{&pool, stream, small}];
  if (it == nullptr) {
    it = std::make_unique<arena>();
    it->stream = stream;
    it->is_small = small;
    it->pool = &pool;
  }
  return *it;
}

memory_pool* arenas::find_pool(c10::MempoolId_t id) noexcept {
  if (id == common_.id) return &common_;
  const auto it = pools_.find(id);
  return it == pools_.end() ? nullptr : it->second.get();
}

memory_pool& arenas::find_or_make_pool(c10::MempoolId_t id) {
  if (id == common_.id) return common_;
  auto& it = pools_[id];
  if (it == nullptr) {
    it = std::make_unique<memory_pool>();
    it->id = id;
  }
  return *it;
}

void arenas::remove_pool(c10::MempoolId_t id) noexcept {
  const auto it = pools_.find(id);
  if (it == pools_.end()) return;
  for (auto each = others_.begin(); each != others_.end();) {
    each = each->first.pool == it->second.get() ? others_.erase(each) : std::next(each);
  }
  pools_.erase(it);
}

}  // namespace outback::core
