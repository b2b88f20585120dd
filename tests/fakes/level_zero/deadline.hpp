// Until when to wait: the timeouts of Level Zero are nanoseconds, 0 being "do not" and UINT64_MAX
// "for ever".
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace outback::software_ze {

class deadline {
 public:
  explicit deadline(uint64_t timeout) noexcept
      : forever_(timeout == UINT64_MAX),
        // Bounded, so that the sum with now fits.
        at_(std::chrono::steady_clock::now() +
            std::chrono::nanoseconds(std::min<uint64_t>(timeout, uint64_t{1} << 60))) {}

  bool passed() const noexcept { return !forever_ && std::chrono::steady_clock::now() >= at_; }

  /// The end of the next piece of the wait. Waits are made of pieces, because nothing wakes them
  /// when a device is lost.
  std::chrono::steady_clock::time_point piece() const noexcept {
    const auto piece = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    return forever_ ? piece : std::min(piece, at_);
  }

 private:
  const bool forever_;
  const std::chrono::steady_clock::time_point at_;
};

}  // namespace outback::software_ze
