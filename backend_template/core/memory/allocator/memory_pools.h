// The memory pools that have, or may get, memory on one device: the common pool, those of
// torch.<name>.MemPool, and those of graphs.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/flat_hash_map.h>

#include <cstddef>
#include <memory>

namespace outback::core {

/// One pool's part on one device. The pool with the id {0, 0} is the common one, which serves
/// everybody. The device's mutex guards it; `no_split` is read with a stream's mutex alone, and
/// written with all mutexes held.
struct memory_pool {
  c10::MempoolId_t id{0, 0};
  int uses = 0;             // MemPool objects, graphs, and threads that route allocations to it
  bool use_on_oom = false;  // serves everybody before memory runs out
  bool no_split = false;    // a segment serves one allocation
  size_t segments = 0;      // how many it has; 0 in the common pool, which is never removed
};

/// The pools of one device, guarded by its mutex. A pool stays where it is until `remove`.
class memory_pools {
 public:
  /// Returns the common pool. Needs no lock.
  memory_pool& common() noexcept { return common_; }
  /// Returns the pool, or null if there is none.
  memory_pool* find(c10::MempoolId_t id) noexcept;
  memory_pool& find_or_make(c10::MempoolId_t id);
  /// Removes a pool that has no segments, no uses, and no arenas. The common pool stays.
  void remove(c10::MempoolId_t id) noexcept;

  /// Calls `visit` with each pool but the common one.
  template <class F>
  void for_each_private(F visit) {
    for (auto& [id, pool] : private_) visit(*pool);
  }

 private:
  memory_pool common_;
  // Pointers, since arenas point to their pool and the table moves its elements.
  ska::flat_hash_map<c10::MempoolId_t, std::unique_ptr<memory_pool>, c10::MempoolIdHash> private_;
};

}  // namespace outback::core
