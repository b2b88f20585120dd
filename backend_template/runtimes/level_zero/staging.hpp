// Pinned blocks through which small copies from pageable memory go, so that the caller need not
// wait for the device.
#pragma once

#include <array>
#include <cstddef>

#include "backend_template/runtimes/level_zero/event_pool.hpp"

namespace outback::level_zero {

class driver;

/// Bytes of a block. Up to this size a copy is staged: copying twice costs less than waiting for
/// the device.
inline constexpr std::size_t staging_size = std::size_t{64} << 10;

/// The 16 blocks of one queue, used in turn. Each is allocated when it is first needed and freed
/// with the object. Not for two threads at once.
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

  /// Marks the block that `acquire` returned last as in use until `signal` is complete.
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
