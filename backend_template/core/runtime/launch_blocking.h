// OUTBACK_LAUNCH_BLOCKING: whether each operator waits for its work. The code that enqueues work
// (streams/launches.h) asks it, and the code that makes the text of a failure.
#pragma once

#include <atomic>

namespace outback::core {

namespace detail {
// Set once, by read_launch_blocking.
inline constinit std::atomic<bool> launches_block{false};
}  // namespace detail

/// Returns true if the variable is set to 1. Costs one load.
inline bool is_launch_blocking() noexcept {
  return detail::launches_block.load(std::memory_order_relaxed);
}

}  // namespace outback::core
