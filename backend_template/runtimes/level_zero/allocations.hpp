// The device memory that is there: what was asked for, and what another process shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace outback::level_zero {

struct allocation {
  void* base;
  std::size_t size;
  uint64_t serial;  // no two of the process have the same
};

/// The allocations of one device, and how many bytes they are. May be used from any thread.
class allocations {
 public:
  /// Charges `size` bytes, before they are asked for. Throws outback::out_of_memory where `limit`
  /// would be exceeded: a driver that lets its devices be oversubscribed would never refuse.
  void charge(std::size_t size, uint64_t limit);
  void discharge(std::size_t size) noexcept;
  uint64_t used() const;

  /// What was charged is at `base` now.
  void add(void* base, std::size_t size);
  /// Forgets it and answers it; it stays charged. Throws outback::invalid_argument if it is not
  /// there.
  allocation take(void* base);
  /// Nothing, if it is not there.
  void forget(void* base) noexcept;
  /// Puts it back, where it could not be freed.
  void restore(const allocation& taken);
  /// nullopt unless `base` begins one.
  std::optional<allocation> find(void* base) const;

  /// Calls `body(allocation)` for each while none can come or go.
  template <class Body>
  void for_each(const Body& body) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [base, each] : by_base_) body(each);
  }

 private:
  mutable std::mutex mutex_;
  std::map<void*, allocation> by_base_;
  uint64_t used_ = 0;
};

}  // namespace outback::level_zero
