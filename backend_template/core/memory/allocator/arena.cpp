#include "backend_template/core/memory/allocator/arena.h"

#include <c10/util/hash.h>

#include <iterator>
#include <memory>

namespace outback::core {

arenas::arenas(c10::StreamId most_used, memory_pool& common) {
  // These two exist from the start, so that `find` needs no check for them.
  for (const bool small : {false, true}) {
    most_used_[small].stream = most_used;
    most_used_[small].is_small = small;
    most_used_[small].pool = &common;
  }
}

size_t arenas::key_hash::operator()(const key& wanted) const noexcept {
  return c10::get_hash(wanted.pool.first, wanted.pool.second, wanted.stream, wanted.small);
}

arena* arenas::find_other(c10::StreamId stream, bool small, c10::MempoolId_t pool) noexcept {
  const auto found = others_.find(key{pool, stream, small});
  return found == others_.end() ? nullptr : found->second.get();
}

arena& arenas::find_or_make(c10::StreamId stream, bool small, memory_pool& pool) {
  if (is_most_used(stream, pool.id)) return most_used_[small];
  auto& slot = others_[key{pool.id, stream, small}];
  if (slot == nullptr) {
    slot = std::make_unique<arena>();
    slot->stream = stream;
    slot->is_small = small;
    slot->pool = &pool;
  }
  return *slot;
}

void arenas::remove(c10::MempoolId_t pool) noexcept {
  for (auto it = others_.begin(); it != others_.end();) {
    it = it->first.pool == pool ? others_.erase(it) : std::next(it);
  }
}

}  // namespace outback::core
