// The host memory that this runtime pinned. CUDA says of a pointer whether it is pinned, but for
// registered memory it does not say where the range begins and ends, which host_memory.info
// returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace outback::cuda {

/// A range of pinned host memory, in bytes.
struct host_range {
  void* base;
  std::size_t size;
  bool registered;  // by host_registration.add; else allocated by host_memory.alloc
};

/// A map of ranges that do not overlap. May be used from any thread.
class host_ranges {
 public:
  /// Adds `range` and returns nullopt. If it overlaps a range that is there, adds nothing and
  /// returns that one.
  std::optional<host_range> add(const host_range& range);
  /// Removes and returns the range that begins at `base`, or returns nullopt if none begins there
  /// or it is of the other kind.
  std::optional<host_range> take(const void* base, bool registered);
  /// Returns the range that `ptr` points into, at its beginning or inside.
  std::optional<host_range> find(const void* ptr) const;

 private:
  mutable std::mutex mutex_;
  std::map<uintptr_t, host_range> ranges_;  // by where they begin; they do not overlap
};

}  // namespace outback::cuda
