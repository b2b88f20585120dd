// Where blocks come from and go back to: the free blocks of one stream, of one pool, and of one
// side of the line between small and large. Blocks of two arenas never merge.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/flat_hash_map.h>

#include <array>
#include <memory>

#include "backend_template/core/memory/allocator/free_blocks.h"
#include "backend_template/core/memory/allocator/memory_pools.h"

namespace outback::core {

struct alignas(cache_line) arena {
  c10::StreamId stream = 0;
  bool is_small = false;
  memory_pool* pool = nullptr;
  free_blocks cached;
  recent_blocks recent;  // of a small arena only
};

/// The arenas of one stream's cache. Not thread-safe. Never shrinks but by `remove`.
class arenas {
 public:
  /// `most_used`: the stream whose arenas of the common pool are found soonest.
  arenas(c10::StreamId most_used, memory_pool& common);

  /// Null when there was no `find_or_make` for it.
  arena* find(c10::StreamId stream, bool small, c10::MempoolId_t pool) noexcept {
    return C10_LIKELY(is_most_used(stream, pool)) ? &most_used_[small]
                                                  : find_other(stream, small, pool);
  }
  arena& find_or_make(c10::StreamId stream, bool small, memory_pool& pool);
  void remove(c10::MempoolId_t pool) noexcept;

  template <class F>
  void for_each(F visit) {
    for (arena& it : most_used_) visit(it);
    for (auto& [key, it] : others_) visit(*it);
  }

 private:
  struct key {
    c10::MempoolId_t pool;
    c10::StreamId stream;
    bool small;
    bool operator==(const key&) const = default;
  };
  struct key_hash {
    size_t operator()(const key& it) const noexcept;
  };

  bool is_most_used(c10::StreamId stream, c10::MempoolId_t pool) const noexcept {
    return stream == most_used_[0].stream && pool == c10::MempoolId_t{0, 0};
  }
  arena* find_other(c10::StreamId stream, bool small, c10::MempoolId_t pool) noexcept;

  std::array<arena, 2> most_used_;  // large, small
  ska::flat_hash_map<key, std::unique_ptr<arena>, key_hash> others_;
};

}  // namespace outback::core
