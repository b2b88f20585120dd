// The first use of the device: nothing touches the driver before it, and nothing works after a fork
// of it.
#pragma once

#include <c10/macros/Macros.h>

#include <atomic>

namespace outback::core {

namespace detail {
enum class start_state { not_started, started, forked };
extern std::atomic<start_state> start_state_now;
void start_slowly();
}  // namespace detail

/// Starts the backend on the first call (thread-safe). Throws when there is no device, or in a
/// child of a process that had started it: its streams, contexts and threads did not survive the
/// fork.
inline void ensure_started() {
  if (C10_UNLIKELY(detail::start_state_now.load(std::memory_order_acquire) !=
                   detail::start_state::started)) {
    detail::start_slowly();
  }
}

bool is_started() noexcept;

/// True in a child of a process that had started the backend.
inline bool is_in_bad_fork() noexcept {
  return detail::start_state_now.load(std::memory_order_acquire) == detail::start_state::forked;
}

}  // namespace outback::core
