// The host memory that this runtime pinned: CUDA answers for a pointer that it is pinned, but not,
// for registered memory, where the range begins and ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace outback::cuda {

struct host_range {
  void* base;
  std::size_t size;
  bool registered;  // somebody else's memory, that is; if not, it was allocated here
};

/// May be used from any thread.
class host_ranges {
 public:
  /// What it meets, and then it was not added.
  std::optional<host_range> add(const host_range& range);
  /// The range that begins at `base`, and is forgotten; none if there is none of that kind.
  std::optional<host_range> take(const void* base, bool registered);
  /// The range that `ptr` is in.
  std::optional<host_range> find(const void* ptr) const;

 private:
  mutable std::mutex mutex_;
  std::map<uintptr_t, host_range> ranges_;  // by where they begin; they do not overlap
};

}  // namespace outback::cuda
