// The table of the memory that the host runtime knows: which range belongs to which device, and
// which is pinned. Slots use it to check pointers and to answer host_memory.info.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace outback::host {

/// The alignment of every allocation in bytes. Torch's own CPU kernels assume 64 (c10::gAlignment).
inline constexpr uint32_t alignment = 64;

struct allocation {
  void* base;
  std::size_t size;  // bytes, as asked for
  int32_t device;    // whose memory; OUTBACK_HOST for pinned host memory
  void* bytes;       // where the memory is: `base`, unless `base` is a protected address
  void* block;       // what malloc returned; null for another process's memory and for the user's
};

/// A map of ranges, which do not overlap. It only keeps books: it neither allocates nor frees. May
/// be used from any thread; each function holds one mutex for the length of a lookup.
class allocations {
 public:
  /// Adds an allocation, which must overlap no other.
  void add(const allocation& given);

  /// Adds `given` and returns nullopt. If `given` overlaps an allocation that is there, adds
  /// nothing and returns that one.
  std::optional<allocation> add_apart(const allocation& given);

  /// Removes and returns the allocation that begins at `base`. Throws outback::invalid_argument,
  /// and removes nothing, if none begins there, if it belongs to another device than `device`, or
  /// if it has no block.
  allocation take(void* base, int32_t device);

  /// Removes and returns the allocation without a block that begins at `base`, or returns nullopt
  /// if there is none.
  std::optional<allocation> take_blockless(void* base);

  /// Returns the allocation that `ptr` points into, at its beginning or inside.
  std::optional<allocation> find(const void* ptr) const;

  /// Returns an allocation that overlaps the `size` bytes from `ptr` on. `size` is at least 1.
  std::optional<allocation> find_overlapping(const void* ptr, std::size_t size) const;

  /// Returns whether all `size` bytes from `ptr` on lie in one allocation of `device`.
  bool holds(int32_t device, const void* ptr, std::size_t size) const;

  /// Returns the address of the memory that `ptr` stands for, which differs from `ptr` where
  /// addresses are protected. `ptr` must point into an allocation (std::bad_optional_access if
  /// not).
  void* bytes_at(const void* ptr) const;

  /// Removes and returns some allocation, or returns nullopt when none is left.
  std::optional<allocation> take_any();

 private:
  // The caller holds mutex_.
  std::optional<allocation> overlapping(const std::byte* begin, std::size_t size) const;

  mutable std::mutex mutex_;
  std::map<const std::byte*, allocation> by_base_;
};

}  // namespace outback::host
