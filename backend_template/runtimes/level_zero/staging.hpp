// Pinned blocks that small copies from pageable memory go through, so that the caller need not
// wait.
#pragma once

#include <array>
#include <cstddef>

#include "backend_template/runtimes/level_zero/event_slots.hpp"

namespace outback::level_zero {

class driver;

/// Up to here a copy is staged: copying twice costs less than waiting for the device.
inline constexpr std::size_t staging_size = std::size_t{64} << 10;

/// The blocks of one queue, used in turn. Not for two threads at once. They are never freed: a
/// queue is not, and uses them again.
class staging {
 public:
  explicit staging(driver& of) : driver_(of) {}
  /// No copy is on its way any more.
  ~staging();
  staging(const staging&) = delete;
  staging& operator=(const staging&) = delete;

  /// A block of `staging_size` bytes that no work uses; null where all are in use. Throws like
  /// `check`.
  void* acquire();

  /// What `acquire` answered is in use until `slot` is complete.
  void use(slot_ref slot) noexcept;

 private:
  struct block {
    void* memory = nullptr;
    slot_ref until;
  };

  driver& driver_;
  std::array<block, 16> blocks_;
  std::size_t next_ = 0;
};

}  // namespace outback::level_zero
