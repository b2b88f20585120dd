// Addresses for allocations: one range of the process, so that a pointer says by itself whether it
// is the driver's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace outback::software_ze {

/// The pages are those of one file in memory, of which every allocation is a part: another process
/// that has the file's descriptor can map the same bytes. Guarded, callers get addresses that
/// fault, and only `bytes` knows where the file is mapped a second time. What is not allocated
/// faults in either case. May be used from any thread; leaked.
class arena {
 public:
  /// Throws std::system_error.
  arena(std::size_t size, bool guarded);
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  /// `size` bytes, a multiple of `granule`, at a multiple of `alignment`, a power of two up
  /// to `greatest_alignment`. Null if
  /// there are no addresses left.
  std::byte* take(std::size_t size, std::size_t alignment);
  /// What `take` answered. Its pages are gone; its addresses are used again after some others.
  void give(std::byte* base, std::size_t size) noexcept;

  bool contains(const void* pointer) const noexcept {
    const auto* byte = static_cast<const std::byte*>(pointer);
    return byte >= addresses_ && byte < addresses_ + size_;
  }
  /// Where the driver itself reads and writes what `pointer`, an address of the arena, stands for.
  std::byte* bytes(const void* pointer) const noexcept { return bytes_ + offset(pointer); }
  uint64_t offset(const void* pointer) const noexcept {
    return static_cast<uint64_t>(static_cast<const std::byte*>(pointer) - addresses_);
  }
  int file() const noexcept { return file_; }

  /// Puts `size` bytes of another arena's file behind the addresses that `take` answered, until
  /// `give`. False if the system refuses.
  bool map_foreign(std::byte* base, std::size_t size, int file, uint64_t offset);
  /// `give` for what was mapped so: its pages stay.
  void give_foreign(std::byte* base, std::size_t size) noexcept;

  static constexpr std::size_t granule = 4096, greatest_alignment = 2u << 20;

 private:
  void rest(uint64_t offset, uint64_t size) noexcept;
  void recycle(uint64_t offset, uint64_t size);  // mutex_ is held

  const std::size_t size_;
  const bool guarded_;
  int file_ = -1;
  std::byte* addresses_ = nullptr;  // for callers
  std::byte* bytes_ = nullptr;      // for the driver; the same unless guarded

  std::mutex mutex_;
  std::map<uint64_t, uint64_t> free_;                  // offset to size; no two touch
  std::deque<std::pair<uint64_t, uint64_t>> resting_;  // freed of late
};

}  // namespace outback::software_ze
