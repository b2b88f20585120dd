// An arena holds the free blocks of one stream and one memory pool, for either small or large
// requests. A freed block returns to the arena from which it was taken. Blocks of two arenas never
// merge.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <array>
#include <cstddef>
#include <unordered_map>

#include "backend_template/core/memory/allocator/free_blocks.h"

namespace outback::core {

/// The pool of all allocations that name no other pool.
inline constexpr c10::MempoolId_t common_pool{0, 0};

/// One device's part of a pool: the common pool, a torch.<name>.MemPool, or the pool of a graph.
struct memory_pool {
  c10::MempoolId_t id = common_pool;
  int uses = 0;             // MemPool objects, graphs, and threads that route allocations to it
  bool use_on_oom = false;  // serves all allocations before memory runs out
  bool no_split = false;    // a segment serves one allocation
  size_t segments = 0;      // segments of this pool
};

/// Free blocks of one kind. A request is served from the arena of its stream, pool and size class,
/// so small requests do not break up the segments of large ones.
struct arena {
  c10::StreamId stream = 0;
  bool is_small = false;
  memory_pool* pool = nullptr;
  free_blocks cached;
  recent_blocks recent;  // stays empty in an arena of large blocks
};

/// The arenas of one device. Not thread-safe. An arena keeps its address until `remove`.
class arenas {
 public:
  /// Returns the arena, or null if find_or_make() has not made it.
  arena* find(c10::StreamId stream, bool small, c10::MempoolId_t pool) noexcept {
    // Most requests want the same arena as the previous request: then no hash table is needed.
    arena* const last = last_[small];
    if (C10_LIKELY(last != nullptr && last->stream == stream && last->pool->id == pool)) {
      return last;
    }
    return find_other(stream, small, pool);
  }
  /// Returns the arena, and makes it if needed. `pool` must live at least until `remove`.
  arena& find_or_make(c10::StreamId stream, bool small, memory_pool& pool);
  /// Destroys the arenas of a pool. They must have no blocks.
  void remove(c10::MempoolId_t pool) noexcept;

  /// Calls `visit` with each arena, empty ones included.
  template <class F>
  void for_each(F visit) {
    for (auto& [key, each] : all_) visit(each);
  }

 private:
  struct key {
    c10::MempoolId_t pool;
    c10::StreamId stream;
    bool small;
    bool operator==(const key&) const = default;
  };
  struct key_hash {
    size_t operator()(const key& wanted) const noexcept;
  };

  arena* find_other(c10::StreamId stream, bool small, c10::MempoolId_t pool) noexcept;

  std::array<arena*, 2> last_{};  // indexed by is_small: the last result of `find`, or null
  std::unordered_map<key, arena, key_hash> all_;
};

}  // namespace outback::core
