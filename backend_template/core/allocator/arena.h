// Where blocks come from and go back to: the free blocks of one stream, of one pool, and of one
// side of the line between small and large. Blocks of two arenas never merge.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/flat_hash_map.h>

#include <array>
#include <memory>

#include "backend_template/core/allocator/free_blocks.h"

namespace outback::core {

/// A MemPool's memory on one device; the one with the id {0, 0} is everybody's. Guarded by the
/// device's cache.
struct memory_pool {
  c10::MempoolId_t id{0, 0};
  int uses = 0;             // by a MemPool object and by threads that route to it
  bool use_on_oom = false;  // serves anybody before memory runs out
  bool no_split = false;
  size_t segments = 0;
};

struct arena {
  c10::StreamId stream = 0;
  bool is_small = false;
  memory_pool* pool = nullptr;
  free_blocks cached;
  recent_blocks recent;  // of a small arena only
};

/// All arenas of a device. Not thread-safe. Never shrinks but by `remove_pool`.
class arenas {
 public:
  arenas();

  arena& find(c10::StreamId stream, bool small, memory_pool& pool);

  memory_pool& common_pool() noexcept { return common_; }
  /// Null when there is none.
  memory_pool* find_pool(c10::MempoolId_t id) noexcept;
  memory_pool& find_or_make_pool(c10::MempoolId_t id);
  /// A pool without segments and uses.
  void remove_pool(c10::MempoolId_t id) noexcept;

  template <class F>
  void for_each(F visit) {
    for (arena& it : common_default_) visit(it);
    for (auto& [key, it] : others_) visit(*it);
  }
  template <class F>
  void for_each_pool(F visit) {
    for (auto& [id, pool] : pools_) visit(*pool);
  }

 private:
  struct key {
    const memory_pool* pool;
    c10::StreamId stream;
    bool small;
    bool operator==(const key&) const = default;
  };
  struct key_hash {
    size_t operator()(const key& it) const noexcept;
  };

  memory_pool common_;
  std::array<arena, 2> common_default_;  // of the default stream: large, small
  ska::flat_hash_map<key, std::unique_ptr<arena>, key_hash> others_;
  ska::flat_hash_map<c10::MempoolId_t, std::unique_ptr<memory_pool>, c10::MempoolIdHash> pools_;
};

}  // namespace outback::core
