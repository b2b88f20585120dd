// The device memory that exists on one device: which ranges were allocated, and how many bytes they
// are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace outback::level_zero {

/// A range that zeMemAllocDevice returned.
struct allocation {
  void* base;
  std::size_t size;  // bytes, as asked for
  uint64_t serial;   // unique in the process; interprocess handles name it
};

/// Keeps books; it does not allocate. May be used from any thread: each function holds one mutex
/// briefly, `for_each_or_none` during its calls.
class allocations {
 public:
  /// Adds `size` bytes to what is used, before the driver is asked for them. Throws
  /// outback::out_of_memory if that would exceed `limit`. A driver that oversubscribes its devices
  /// would never refuse.
  void charge(std::size_t size, uint64_t limit);
  /// Takes `size` bytes back.
  void discharge(std::size_t size) noexcept;
  /// The bytes that are charged.
  uint64_t used() const;

  /// Notes that memory, which was charged before, is at `base`.
  void add(void* base, std::size_t size);
  /// Removes and returns the allocation at `base`; it stays charged. Throws
  /// outback::invalid_argument if none begins there.
  allocation take(void* base);
  /// Removes the allocation at `base`, if there is one.
  void forget(void* base) noexcept;
  /// Puts back what `take` returned, because the driver would not free it.
  void restore(const allocation& taken);
  /// Returns the allocation that begins at `base`, or nullopt.
  std::optional<allocation> find(void* base) const;

  /// Calls `body(allocation)` for each allocation under the lock, so that none comes or goes
  /// meanwhile. If it throws, calls `undo(allocation)` for those that it was called for before, and
  /// throws on: what is done is done for all of them or for none. Neither may call this object.
  template <class Body, class Undo>
  void for_each_or_none(const Body& body, const Undo& undo) const {
    const std::lock_guard lock(mutex_);
    auto it = by_base_.begin();
    try {
      for (; it != by_base_.end(); ++it) body(it->second);
    } catch (...) {
      while (it != by_base_.begin()) undo((--it)->second);
      throw;
    }
  }

 private:
  mutable std::mutex mutex_;
  std::map<void*, allocation> by_base_;
  uint64_t used_ = 0;
};

}  // namespace outback::level_zero
