// Pinned memory between devices that cannot reach each other.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace outback::level_zero {

class driver;

/// At most so much of a copy is on its way at once.
inline constexpr std::size_t detour_size = std::size_t{4} << 20;

/// Blocks of `detour_size` bytes, kept to be used again: as many as copies were ever made at once.
/// May be used from any thread.
class detour_blocks {
 public:
  explicit detour_blocks(driver& of) : driver_(of) {}

  /// The caller's for a while. Throws like `check`.
  class block {
   public:
    explicit block(detour_blocks& from) : from_(from), memory_(from.take()) {}
    ~block() { from_.give_back(memory_); }
    block(const block&) = delete;
    block& operator=(const block&) = delete;
    void* memory() const noexcept { return memory_; }

   private:
    detour_blocks& from_;
    void* const memory_;
  };

 private:
  void* take();
  void give_back(void* memory) noexcept;

  driver& driver_;
  std::mutex mutex_;
  std::vector<void*> free_;
  std::size_t made_ = 0;
};

}  // namespace outback::level_zero
