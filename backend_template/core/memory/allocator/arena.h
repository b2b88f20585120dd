// Arenas: where blocks come from and where they return to. An arena holds the free blocks of one
// stream, of one memory pool, and of either small or large requests. Blocks of two arenas never
// merge.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <array>
#include <cstddef>
#include <unordered_map>

#include "backend_template/core/memory/allocator/free_blocks.h"

namespace outback::core {

/// The pool that serves everybody.
inline constexpr c10::MempoolId_t common_pool{0, 0};

/// One pool's part on one device: of the common pool, of a torch.<name>.MemPool, or of a graph's.
struct memory_pool {
  c10::MempoolId_t id = common_pool;
  int uses = 0;             // MemPool objects, graphs, and threads that route allocations to it
  bool use_on_oom = false;  // serves everybody before memory runs out
  bool no_split = false;    // a segment serves one allocation
  size_t segments = 0;      // how many it has
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

/// The arenas of one device. Not thread-safe. An arena stays where it is until `remove`.
class arenas {
 public:
  /// Returns the arena, or null if find_or_make() was never called for it.
  arena* find(c10::StreamId stream, bool small, c10::MempoolId_t pool) noexcept {
    // Most requests are for the arena of the one before, which is found without a hash table.
    arena* const last = last_[small];
    if (C10_LIKELY(last != nullptr && last->stream == stream && last->pool->id == pool)) {
      return last;
    }
    return find_other(stream, small, pool);
  }
  /// Returns the arena, made if there is none. `pool` must live at least until `remove`.
  arena& find_or_make(c10::StreamId stream, bool small, memory_pool& pool);
  /// Destroys the arenas of a pool, which must be empty.
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

  std::array<arena*, 2> last_{};  // by is_small: what `find` found last, or null
  std::unordered_map<key, arena, key_hash> all_;
};

}  // namespace outback::core
