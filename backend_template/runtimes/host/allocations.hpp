// Which memory the runtime knows, and of which device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace outback::host {

/// Of every allocation, in bytes: what torch's own CPU kernels assume.
inline constexpr uint32_t alignment = 64;

struct allocation {
  void* base;
  std::size_t size;  // as asked for
  int32_t device;    // OUTBACK_HOST: pinned host memory
  void* bytes;       // where they are: `base`, unless that address is protected
  void* block;  // what malloc answered for them; null: they are another process's or the user's
};

/// May be used from any thread.
class allocations {
 public:
  void add(const allocation& given);

  /// Answers an allocation that meets the range of `given`. Only if there is none, adds it.
  std::optional<allocation> add_apart(const allocation& given);

  /// Removes and answers the allocation that begins at `base`. Throws outback::invalid_argument,
  /// and removes nothing, if there is none, if it is another device's or if it has no block.
  allocation take(void* base, int32_t device);

  /// The same of what has no block; nullopt if nothing without one begins at `base`.
  std::optional<allocation> take_blockless(void* base);

  /// The allocation that `ptr` points into.
  std::optional<allocation> find(const void* ptr) const;

  /// One that meets the range of `size` bytes, at least one, from `ptr` on.
  std::optional<allocation> find_overlapping(const void* ptr, std::size_t size) const;

  /// Whether all `size` bytes from `ptr` on lie in one allocation of `device`.
  bool holds(int32_t device, const void* ptr, std::size_t size) const;

  /// Where the bytes are that `ptr`, which points into an allocation, stands for.
  void* bytes_at(const void* ptr) const;

  /// Removes and answers any one, until there are none.
  std::optional<allocation> take_any();

 private:
  std::optional<allocation> overlapping(const std::byte* begin, std::size_t size) const;

  mutable std::mutex mutex_;
  std::map<const std::byte*, allocation> by_base_;
};

}  // namespace outback::host
