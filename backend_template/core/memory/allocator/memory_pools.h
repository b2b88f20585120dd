// The MemPools that have, or may get, memory on one device.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/flat_hash_map.h>

#include <cstddef>
#include <memory>

namespace outback::core {

/// A MemPool's memory on one device; the one with the id {0, 0} is everybody's. Guarded by the
/// device's mutex, `no_split` by those of the streams too.
struct memory_pool {
  c10::MempoolId_t id{0, 0};
  int uses = 0;             // by a MemPool object and by threads that route to it
  bool use_on_oom = false;  // serves anybody before memory runs out
  bool no_split = false;
  size_t segments = 0;
};

/// Not thread-safe, but for `common`.
class memory_pools {
 public:
  memory_pool& common() noexcept { return common_; }
  /// Null when there is none.
  memory_pool* find(c10::MempoolId_t id) noexcept;
  memory_pool& find_or_make(c10::MempoolId_t id);
  /// A pool without segments, uses, and arenas.
  void remove(c10::MempoolId_t id) noexcept;

  template <class F>
  void for_each_private(F visit) {
    for (auto& [id, pool] : private_) visit(*pool);
  }

 private:
  memory_pool common_;
  ska::flat_hash_map<c10::MempoolId_t, std::unique_ptr<memory_pool>, c10::MempoolIdHash> private_;
};

}  // namespace outback::core
