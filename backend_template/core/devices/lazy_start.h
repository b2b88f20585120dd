// The start of the backend, on its first use: no code calls the driver before. If a started process
// forks, the backend does not work in the child.
//
// Code that is about to call a slot which needs the driver calls `ensure_started` first. Code that
// frees resources asks `is_in_bad_fork` first, and frees nothing in such a child.
#pragma once

#include <c10/macros/Macros.h>

#include <atomic>

namespace outback::core {

namespace detail {
// not_started -> starting -> started, once, or back to not_started if there is no device; starting
// or started -> forked in a child process, by a pthread_atfork handler.
enum class start_state { not_started, starting, started, forked };
inline constinit std::atomic<start_state> start_state_now{start_state::not_started};
void start_slowly();
// Set by the pthread_atfork handler.
inline constinit std::atomic<bool> is_new_child{false};
}  // namespace detail

/// Installs the handler for forks. Registration calls it once.
void watch_forks();

/// Returns true once the backend has started in this process. Returns false in a forked child.
inline bool is_started() noexcept {
  return detail::start_state_now.load(std::memory_order_acquire) == detail::start_state::started;
}

/// Starts the backend on the first call: counts the devices and lets the runtime start its driver.
/// Later calls cost one load. Thread-safe: if several threads call it first, one starts the backend
/// and the others wait.
///
/// Throws c10::Error (RuntimeError) if there is no device, with the runtime's reason; then the next
/// call tries again. Throws c10::Error also in a child of a process that had begun to start, since
/// the driver's streams, contexts and threads did not survive the fork. Throws what `check` throws
/// if the runtime cannot count, and, once the backend has started, if the driver refuses the device
/// that the calling thread set before.
inline void ensure_started() {
  if (C10_UNLIKELY(!is_started())) detail::start_slowly();
}

/// Returns true on the first call in a child after a fork. Any other call returns false and costs
/// one load.
inline bool is_first_look_after_fork() noexcept {
  return C10_UNLIKELY(detail::is_new_child.load(std::memory_order_relaxed)) &&
         detail::is_new_child.exchange(false, std::memory_order_relaxed);
}

/// Returns true in a child of a process that had begun to start the backend before the fork. Such a
/// child must not free what the parent allocated or created, since the parent still owns it.
inline bool is_in_bad_fork() noexcept {
  return detail::start_state_now.load(std::memory_order_acquire) == detail::start_state::forked;
}

}  // namespace outback::core
