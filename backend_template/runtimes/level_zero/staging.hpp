// Pinned blocks for small copies from pageable memory, so that the caller need not wait for the
// device.
#pragma once

#include <array>
#include <cstddef>

#include "backend_template/runtimes/level_zero/event_pool.hpp"

namespace outback::level_zero {

class driver;

/// The size of a block in bytes. Copies up to this size are staged: copying twice costs less than
/// waiting for the device.
inline constexpr std::size_t staging_size = std::size_t{64} << 10;

/// The 16 blocks of one queue, used in turn. Each block is allocated when it is first needed, and
/// the destructor frees all blocks. Not for use by two threads at once.
class staging {
 public:
  explicit staging(driver& of) : driver_(of) {}
  /// Frees the blocks. No copy may use them any more.
  ~staging();
  staging(const staging&) = delete;
  staging& operator=(const staging&) = delete;

  /// Returns a block of `staging_size` bytes that no work uses, or null if the oldest one is still
  /// in use. Throws like `check`.
  void* acquire();

  /// Marks the last block from `acquire` as in use until `signal` is complete.
  void use(event_ref signal) noexcept;

 private:
  struct block {
    void* memory = nullptr;
    event_ref until;
  };

  driver& driver_;
  std::array<block, 16> blocks_;
  std::size_t next_ = 0;
};

}  // namespace outback::level_zero
