// Pinned host memory for copies between devices that cannot reach each other: the copy goes through
// it in pieces.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace outback::level_zero {

class driver;

/// Bytes of a block, and of the longest piece of such a copy.
inline constexpr std::size_t detour_size = std::size_t{4} << 20;

/// Blocks of pinned memory that are used again. There are as many as copies were ever made at once;
/// they are never freed. May be used from any thread.
class detour_blocks {
 public:
  explicit detour_blocks(driver& of) : driver_(of) {}

  /// Borrows a block for its lifetime. The constructor allocates one if all are in use, and throws
  /// like `check`. The caller must have waited for every copy that uses the block before it goes.
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
