// What an event, or a fence, is at heart: a word that is 0 or 1 and wakes who waits for it, in any
// process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

namespace outback::software_ze {

/// Plain words, so that it may lie in memory that processes share. May be used from any thread.
struct signal_state {
  std::atomic<uint32_t> signalled{0};
  std::atomic<uint32_t> waiting{0};  // how many sleep, or are about to
  std::atomic<uint64_t> began{0},
      ended{0};  // of the command that signals it, ticks of the device's clock

  bool is_signalled() const noexcept { return signalled.load(std::memory_order_acquire) != 0; }
  void signal() noexcept;
  void reset() noexcept { signalled.store(0, std::memory_order_release); }
  /// Returns when it is signalled, or at `until`, or earlier.
  void wait_until(std::chrono::steady_clock::time_point until) noexcept;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

using signal_pointer = std::shared_ptr<signal_state>;

}  // namespace outback::software_ze
