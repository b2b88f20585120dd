// Arenas: where blocks come from and where they return to. An arena holds the free blocks of one
// stream, of one memory pool, and of either small or large requests. Blocks of two arenas never
// merge.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/flat_hash_map.h>

#include <array>
#include <memory>

#include "backend_template/core/memory/allocator/free_blocks.h"
#include "backend_template/core/memory/allocator/memory_pools.h"

namespace outback::core {

/// Free blocks of one kind. A request is served from the arena of its stream, pool and size class,
/// so small requests do not break up the segments of large ones.
struct alignas(cache_line) arena {
  c10::StreamId stream = 0;
  bool is_small = false;
  memory_pool* pool = nullptr;
  free_blocks cached;
  recent_blocks recent;  // stays empty in an arena of large blocks
};

/// The arenas of one stream_cache, whose mutex guards them. An arena stays where it is until
/// `remove`.
class arenas {
 public:
  /// `most_used` is the stream whose arenas of the common pool are found without a hash table.
  /// `common` must outlive this object.
  arenas(c10::StreamId most_used, memory_pool& common);

  /// Returns the arena, or null if find_or_make() was never called for it.
  arena* find(c10::StreamId stream, bool small, c10::MempoolId_t pool) noexcept {
    return C10_LIKELY(is_most_used(stream, pool)) ? &most_used_[small]
                                                  : find_other(stream, small, pool);
  }
  /// Returns the arena, made if there is none. `pool` must live at least until `remove`.
  arena& find_or_make(c10::StreamId stream, bool small, memory_pool& pool);
  /// Destroys the arenas of a pool, which must be empty. The common pool's stay.
  void remove(c10::MempoolId_t pool) noexcept;

  /// Calls `visit` with each arena, empty ones included.
  template <class F>
  void for_each(F visit) {
    for (arena& each : most_used_) visit(each);
    for (auto& [key, each] : others_) visit(*each);
  }

 private:
  // Several streams may share a stream_cache, so the stream is a part of the key.
  struct key {
    c10::MempoolId_t pool;
    c10::StreamId stream;
    bool small;
    bool operator==(const key&) const = default;
  };
  struct key_hash {
    size_t operator()(const key& wanted) const noexcept;
  };

  bool is_most_used(c10::StreamId stream, c10::MempoolId_t pool) const noexcept {
    return stream == most_used_[0].stream && pool == c10::MempoolId_t{0, 0};
  }
  arena* find_other(c10::StreamId stream, bool small, c10::MempoolId_t pool) noexcept;

  std::array<arena, 2> most_used_;  // by is_small: large, small
  // Pointers, since blocks point to their arena and the table moves its elements.
  ska::flat_hash_map<key, std::unique_ptr<arena>, key_hash> others_;
};

}  // namespace outback::core
