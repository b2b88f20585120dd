#include "backend_template/core/memory/allocator/arena.h"

#include <c10/util/hash.h>

namespace outback::core {

size_t arenas::key_hash::operator()(const key& wanted) const noexcept {
  return c10::get_hash(wanted.pool.first, wanted.pool.second, wanted.stream, wanted.small);
}

arena* arenas::find_other(c10::StreamId stream, bool small, c10::MempoolId_t pool) noexcept {
  const auto found = all_.find(key{pool, stream, small});
  if (found == all_.end()) return nullptr;
  return last_[small] = &found->second;
}

arena& arenas::find_or_make(c10::StreamId stream, bool small, memory_pool& pool) {
  arena& found = all_[key{pool.id, stream, small}];
  found.stream = stream;
  found.is_small = small;
  found.pool = &pool;
  return found;
}

void arenas::remove(c10::MempoolId_t pool) noexcept {
  last_.fill(nullptr);
  std::erase_if(all_, [&](const auto& each) { return each.first.pool == pool; });
}

}  // namespace outback::core
